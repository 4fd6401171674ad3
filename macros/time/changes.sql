{#- One row per thing that is different on the second date, as known second, from the first date, as known first. Two steps lead there: what
    was learned about the first date (`added`, `dropped`, `end_changed`), which only two states of knowledge have, and then what time brought
    up to the second date (`began`, `ended`), as known second. Owners are compared between the two ends (`owner_changed`). -#}
{% macro changes(first_known_on=none, second_known_on=none) -%}
{%- set is_learning = first_known_on != second_known_on -%}
with

second_intervals as {{ 'not materialized' if not second_known_on }} ({{ governed_memory.narrow_intervals(second_known_on) }}),

{% if is_learning -%}
first_intervals as ({{ governed_memory.narrow_intervals(first_known_on) }}),

{{ governed_memory.learned_changes('first_intervals', 'second_intervals') }},

{% endif -%}
record_changes as (
    select *, null::date as former_in_force_to, 'began' as kind, in_force_from as changed_on
    from second_intervals
    where in_force_from > cast(first_date as date) and in_force_from <= cast(second_date as date)
    union all
    select *, null::date as former_in_force_to, 'ended' as kind, in_force_to + 1 as changed_on
    from second_intervals
    where in_force_to >= cast(first_date as date) and in_force_to < cast(second_date as date)
    {% if is_learning -%}
    union all
    select * from learned_changes
    {%- endif %}
),

{{ governed_memory.owner_changes('record_changes', first_known_on, second_known_on,
    'first_intervals' if is_learning else 'second_intervals', 'second_intervals') }},

changes as (
    select
        store_id,
        concept_id,
        kind,
        record_id,
        record_index,
        changed_on,
        interval_status,
        in_force_from,
        in_force_to,
        end_reason,
        ended_by,
        former_in_force_to,
        null::varchar[] as owners_before,
        null::varchar[] as owners_after
    from record_changes
    union all by name
    select
        store_id,
        concept_id,
        'owner_changed' as kind,
        changed_on,
        owners_before,
        owners_after
    from owner_changes
)

select * from changes
{%- endmacro %}

{#- Few columns: a statement that reads these rows several times keeps them. Without known_on they come from the build's table. -#}
{% macro narrow_intervals(known_on=none) -%}
    select store_id, concept_id, record_id, record_index, concept_owner, interval_status, in_force_from, in_force_to, end_reason, ended_by
    from {% if known_on %} ({{ governed_memory.intervals(known_on) }})
    {%- else %} {{ governed_memory.relation('record_intervals_built') }} {%- endif %}
{%- endmacro %}

{#- Whether an interval covers a day. -#}
{% macro covers_day(intervals, day) -%}
    coalesce({{ intervals }}.in_force_from <= {{ day }} and coalesce({{ intervals }}.in_force_to >= {{ day }}, true), false)
{%- endmacro %}

{#- What the second state of knowledge says of the first date that the first one did not, as the clause `learned_changes`. A last day before
    the second date is a change of its own (`ended`). -#}
{% macro learned_changes(first, second) -%}
compared as (
    select
        {{ second }}.*,
        {{ first }}.in_force_from as former_in_force_from,
        {{ first }}.in_force_to as former_in_force_to,
        {{ governed_memory.covers_day(first, 'cast(first_date as date)') }} as was_in_force,
        {{ governed_memory.covers_day(second, 'cast(first_date as date)') }} as is_in_force
    from {{ second }}
    left join {{ first }}
        on {{ second }}.store_id = {{ first }}.store_id and {{ second }}.record_index = {{ first }}.record_index
),

learned_changes as (
    select
        * exclude (former_in_force_from, was_in_force, is_in_force),
        case when not was_in_force then 'added' when not is_in_force then 'dropped' else 'end_changed' end as kind,
        -- the first day of which the two say different things
        case
            when not was_in_force then coalesce(former_in_force_to + 1, in_force_from)
            when not is_in_force then coalesce(in_force_to + 1, former_in_force_from)
            else {{ governed_memory.earlier_date('in_force_to', 'former_in_force_to') }} + 1
        end as changed_on
    from compared
    where
        was_in_force <> is_in_force
        or was_in_force and in_force_to is distinct from former_in_force_to and coalesce(in_force_to >= cast(second_date as date), true)
)
{%- endmacro %}

{#- Concepts whose owner is another one at the second end, as the clause `owner_changes`. The register decides where it has an entry by then,
    else the owners that the records in force claim; where one end has neither, nothing can be compared. -#}
{% macro owner_changes(record_changes, first_known_on, second_known_on, first, second) -%}
registered_first as ({{ governed_memory.registered_owners('first_date', first_known_on) }}),

registered_second as ({{ governed_memory.registered_owners('second_date', second_known_on) }}),

-- what records claim changes only with the records in force
touched as (
    select store_id, concept_id from {{ record_changes }}
    where concept_id is not null and kind <> 'end_changed'
    union
    select store_id, concept_id from registered_second
    where (store_id, concept_id) in (select store_id, concept_id from {{ second }})
),

claimed_first as ({{ governed_memory.claimed_owners(first, 'first_date') }}),

claimed_second as ({{ governed_memory.claimed_owners(second, 'second_date') }}),

compared_owners as (
    select
        touched.store_id,
        touched.concept_id,
        registered_second.starts_on as changed_on,
        coalesce(registered_first.owners, claimed_first.owners) as owners_before,
        coalesce(registered_second.owners, claimed_second.owners) as owners_after
    from touched
    left join registered_first on touched.store_id = registered_first.store_id and touched.concept_id = registered_first.concept_id
    left join registered_second on touched.store_id = registered_second.store_id and touched.concept_id = registered_second.concept_id
    left join claimed_first on touched.store_id = claimed_first.store_id and touched.concept_id = claimed_first.concept_id
    left join claimed_second on touched.store_id = claimed_second.store_id and touched.concept_id = claimed_second.concept_id
),

owner_changes as (
    select * from compared_owners
    where owners_before <> owners_after
)
{%- endmacro %}

{#- The owner of each concept on a day in the register, as a list: empty where the register says that nobody owns it. -#}
{% macro registered_owners(day, known_on=none) -%}
    select
        stores.store_id,
        register.concept_id,
        list_filter([{{ governed_memory.latest_owner('register') }}], lambda party: party is not null) as owners,
        max(register.valid_from) as starts_on
    from {{ governed_memory.relation('concept_ownerships') }} as register
    inner join {{ governed_memory.relation('stores') }} as stores on stores.store_id = coalesce(register.store_id, stores.store_id)
    where
        coalesce(register.valid_from <= cast({{ day }} as date), true)
        {% if known_on %} and (register.recorded_at is null or {{ governed_memory.is_known('register.recorded_at', known_on) }}) {% endif %}
    group by all
{%- endmacro %}

{#- The owners that a concept's records in force on a day claim, of the concepts in the clause `touched`. -#}
{% macro claimed_owners(intervals, day) -%}
    select
        store_id,
        concept_id,
        coalesce(list(distinct concept_owner order by concept_owner) filter (where concept_owner is not null), []) as owners
    from {{ intervals }}
    semi join touched on {{ intervals }}.store_id = touched.store_id and {{ intervals }}.concept_id = touched.concept_id
    where {{ governed_memory.covers_day(intervals, 'cast(' ~ day ~ ' as date)') }}
    group by all
{%- endmacro %}
