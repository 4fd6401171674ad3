{#- Every row of `facts` with the record in force for it on its own date (T3, T11), as one select statement: one row out per row in.

    facts           what stands after FROM: a ref, a source, the name of a clause
    date_column     the column with the fact's day; a timestamp counts as its day in UTC
    concept_column  the column with the concept
    store           the store to read, or store_column where facts say which; needed only where several are attached
    scope_column    the column with the fact's question class: then only what applies to it counts, ended only by what does (G2). Null or
                    a class that the concept does not name: what applies everywhere. Without the argument: whatever the scope.
    prefix          put before the names of the columns added; a fact with a column of such a name is an error, never overwritten
    include_restricted  false: of a restricted record only its being there. It does not look at who asks: a tool for operators, and no
                    boundary (G8); what it makes is for those who may read such records.

    Facts are read twice: a hash join is fastest where a concept has few periods and a sorted join where it has many (int_concept_periods). -#}
{% macro as_of_join(
    facts, date_column, concept_column, store=none, store_column=none, scope_column=none, prefix='as_of_', include_restricted=false
) -%}
{%- if store is not none and store_column is not none -%}
    {{ exceptions.raise_compiler_error("as_of_join: give store or store_column, not both") }}
{%- endif -%}
{%- set fact_date = 'cast(as_of_facts.' ~ adapter.quote(date_column) ~ ' as date)' -%}
{%- set fact_concept = 'cast(as_of_facts.' ~ adapter.quote(concept_column) ~ ' as varchar)' -%}
{%- set fact_store = 'cast(as_of_facts.' ~ adapter.quote(store_column) ~ ' as varchar)' if store_column else none -%}
{%- set added = ['record_count', 'record_ids', 'record_id', 'value', 'source_id', 'concept_owner', 'valid_from', 'is_restricted'] -%}
with

as_of_facts as (select * from {{ facts }}),

as_of_periods as (
    select
        store_id,
        concept_id,
        question_class_id,
        starts_on,
        coalesce(ends_on, 'infinity') as ends_on,
        has_many_periods,
        status as {{ adapter.quote(prefix ~ 'status') }}
        {%- for column in added %},
        {{ column }} as {{ adapter.quote(prefix ~ column) }}
        {%- endfor %}
    from {{ governed_memory.relation('int_concept_periods' if include_restricted else 'concept_periods') }}
    where
        is_scoped = {{ scope_column is not none }}
        {% if not fact_store %} and store_id = ({{ governed_memory.the_one_store(store) }}) {% endif %}
),

{% if scope_column %}
as_of_classes as (
    select distinct store_id, concept_id, question_class_id
    from as_of_periods
    where question_class_id is not null
),
{% endif %}

as_of_many as (
    select distinct store_id, concept_id, question_class_id
    from as_of_periods
    where has_many_periods
)
{% for has_many_periods in [false, true] %}
{{ 'union all' if has_many_periods }}
select
    as_of_facts.*,
    case
        when {{ fact_date }} is null then 'no_date'
        when {{ fact_concept }} is null then 'no_concept'
        {% if fact_store %} when {{ fact_store }} is null then 'no_store' {% endif %}
        -- unqualified, so that a fact's own column of this name is an error
        else coalesce({{ adapter.quote(prefix ~ 'status') }}, 'no_record')
    end as {{ adapter.quote(prefix ~ 'status') }},
    coalesce({{ adapter.quote(prefix ~ 'record_count') }}, 0) as {{ adapter.quote(prefix ~ 'record_count') }}
    {%- for column in added[1:] %},
    {{ adapter.quote(prefix ~ column) }}
    {%- endfor %}
from as_of_facts
{% if scope_column -%}
left join as_of_classes
    on {{ fact_concept }} = as_of_classes.concept_id
    and cast(as_of_facts.{{ adapter.quote(scope_column) }} as varchar) = as_of_classes.question_class_id
    {% if fact_store %} and {{ fact_store }} = as_of_classes.store_id {% endif %}
{% endif -%}
{% for joined, kind in [('as_of_many', 'semi' if has_many_periods else 'anti'), ('as_of_periods', 'asof left' if has_many_periods else 'left')] -%}
{{ kind }} join {{ joined }}
    on {{ fact_concept }} = {{ joined }}.concept_id
    {% if fact_store %} and {{ fact_store }} = {{ joined }}.store_id {% endif %}
    {% if scope_column %} and as_of_classes.question_class_id is not distinct from {{ joined }}.question_class_id {% endif %}
{% endfor -%}
    and {{ fact_date }} >= as_of_periods.starts_on
    {% if not has_many_periods %} and {{ fact_date }} <= as_of_periods.ends_on {% endif %}
{% endfor %}
{%- endmacro %}

{#- The store named, or the only one attached; anything else is an error when the query runs, not a join without matches. -#}
{% macro the_one_store(store) -%}
    {%- set is_it = "store_id = '" ~ dbt.escape_single_quotes(store) ~ "'" if store is not none else 'true' -%}
    select case
        when count(*) filter (where {{ is_it }}) = 1 then max(store_id) filter (where {{ is_it }})
        else error(
            'as_of_join: '
            || {% if store is not none %} '{{ dbt.escape_single_quotes(store) }} is no attached store' {% else %} 'name the store with store or store_column' {% endif %}
            || '; attached are: ' || coalesce(string_agg(store_id, ', ' order by store_id), 'none')
        )
    end
    from {{ governed_memory.relation('stores') }}
{%- endmacro %}
