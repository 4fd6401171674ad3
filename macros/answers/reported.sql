{#- What a report shows, on one page, of every store. Without an audience it is a steward's: every record by its identifier, and of a restricted
    one nothing that it says. For an audience it is what that audience may see (G5 to G7), as in the file that `gmem publish` writes for it. -#}

{#- One row per store, concept and record that had a part in it, for a steward. -#}
{% macro reported_histories() -%}
select
    store_id,
    concept_id,
    record_index,
    {{ governed_memory.offender() }} as record_id,
    record_concept_id,
    is_restricted,
    open_value as value,
    interval_status,
    in_force_from,
    in_force_to,
    valid_from,
    valid_to,
    end_reason,
    ended_by,
    is_partly_ended,
    validity_problem,
    supersedes,
    open_withdrawal as withdrawal,
    case when not is_restricted then source_id end as source_id,
    case when not is_restricted then concept_owner end as concept_owner,
    known_at
from {{ governed_memory.relation('concept_histories') }}
{%- endmacro %}

{#- One row per store, concept and period, for a steward: what is answered there before anything is withheld, by identifiers; for
    questions without a class, and of each class that the concept names. -#}
{% macro reported_periods() -%}
with

open_classes as (
    {{ governed_memory.open_classes('not is_restricted') }}
),

periods as (
    select
        segments.store_id,
        segments.concept_id,
        {{ governed_memory.shown_class('segments.question_class_id') }} as question_class_id,
        segments.starts_on,
        segments.ends_on,
        {{ governed_memory.reported_outcome('segments.resolution') }} as outcome,
        list_transform(segments.sides, lambda side: side.record_id) as record_ids,
        null::bigint as withheld_count
    from {{ governed_memory.relation('int_segments') }} as segments
    left join open_classes on segments.question_class_id = open_classes.question_class_id
),

{{ governed_memory.joined_periods() }}
{%- endmacro %}

{#- The same as an audience is told it, of the concepts of which it may see a record. -#}
{% macro disclosed_periods() -%}
with

visible as (
    select distinct store_id, concept_id from {{ governed_memory.relation('records') }}
    where {{ governed_memory.is_visible('is_restricted', 'release_to', '__parties__', '__boundary__') }}
),

periods as (
    select
        answers.store_id,
        answers.concept_id,
        answers.question_class_id,
        answers.starts_on,
        answers.ends_on,
        {{ governed_memory.reported_outcome('answers.outcome') }} as outcome,
        coalesce(
            list_transform(answers.sides, lambda side: side.record_id),
            case when answers.outcome = 'answered' then [answers.record_id] end
        ) as record_ids,
        answers.withheld_count
    from ({{ governed_memory.audience_answers('__parties__', '__boundary__') }}) as answers
    semi join visible on answers.store_id = visible.store_id and answers.concept_id = visible.concept_id
),

{{ governed_memory.joined_periods() }}
{%- endmacro %}

{#- A question without a class that finds nothing because what there is holds for some classes only is told from one that finds nothing. -#}
{% macro reported_outcome(outcome) -%}
    case when {{ outcome }} = 'empty' and list_contains(reasons, 'out_of_scope') then 'out_of_scope' else {{ outcome }} end
{%- endmacro %}

{#- `periods`, those that follow on each other and tell the same joined. -#}
{% macro joined_periods() -%}
{%- set told = "{'outcome': outcome, 'record_ids': record_ids, 'withheld_count': withheld_count}" -%}
compared as (
    select *, ({{ told }} is distinct from lag({{ told }}) over question_periods
        or starts_on is distinct from lag(ends_on) over question_periods + 1)::integer as is_change
    from periods
    window question_periods as (partition by store_id, concept_id, question_class_id order by starts_on nulls first)
),

numbered as (
    select *, sum(is_change) over question_periods as period_number
    from compared
    window question_periods as (
        partition by store_id, concept_id, question_class_id order by starts_on nulls first rows between unbounded preceding and current row
    )
)

select
    store_id,
    concept_id,
    question_class_id,
    case when bool_and(starts_on is not null) then min(starts_on) end as starts_on,
    case when bool_and(ends_on is not null) then max(ends_on) end as ends_on,
    any_value(outcome) as outcome,
    any_value(record_ids) as record_ids,
    any_value(withheld_count) as withheld_count
from numbered
group by store_id, concept_id, question_class_id, period_number
{%- endmacro %}

{#- One row per store and concept of the periods: how its question is answered on the date of the build, and whether its rivals are ever
    unresolved, or nothing is in force between two answers. -#}
{% macro reported_concepts() -%}
select
    periods.store_id,
    periods.concept_id,
    max(periods.outcome) filter (
        where
        periods.question_class_id is null
        and coalesce(periods.starts_on <= builds.on_date, true) and coalesce(periods.ends_on >= builds.on_date, true)
    ) as outcome,
    bool_or(periods.outcome in ('unresolved', 'abstained')) as has_conflict,
    bool_or(
        periods.outcome = 'empty' and periods.question_class_id is null and periods.starts_on is not null and periods.ends_on is not null
    ) as has_gap
from (__periods__) as periods
cross join {{ governed_memory.relation('stg_build') }} as builds
group by periods.store_id, periods.concept_id
{%- endmacro %}

{#- One row per finding: of which record, by which rule and for whom. Never what a finding says beside that. -#}
{% macro reported_findings() -%}
select store_id, record_index, record_id, concept_id, rule_id, severity, party_id, party_role
from {{ governed_memory.relation('findings') }}
{%- endmacro %}

{#- The same for an audience: of records that it may see, and of rules that look at nothing but the record itself, since any other finding, and
    its absence, speaks of other records. -#}
{% macro disclosed_findings() -%}
select
    findings.store_id,
    findings.record_index,
    visible.record_id,
    visible.concept_id,
    findings.rule_id,
    findings.severity,
    visible.concept_owner as party_id,
    visible.owner_role as party_role
from {{ governed_memory.relation('findings') }} as findings
inner join {{ governed_memory.relation('records') }} as visible
    on findings.store_id = visible.store_id and findings.record_index = visible.record_index
where
    findings.kind = 'presence'
    and {{ governed_memory.is_visible('visible.is_restricted', 'visible.release_to', '__parties__', '__boundary__') }}
{%- endmacro %}

{#- One row per store: the policy that settles conflicts in it, in words and in the order of what it compares. -#}
{% macro reported_policies() -%}
select
    stores.store_id,
    stores.policy_id,
    policies.policy_text,
    criteria.criteria
from {{ governed_memory.relation('stores') }} as stores
left join {{ governed_memory.relation('policies') }} as policies on stores.policy_id = policies.policy_id
left join {{ governed_memory.relation('int_store_criteria') }} as criteria on stores.store_id = criteria.store_id
{%- endmacro %}
