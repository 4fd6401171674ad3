{#- The steps that judged frames name, as clauses to begin with: `told_steps` has each step as JSON, with whether it is malformed or has a field
    that a step has not. -#}
{% macro told_steps() -%}
told_steps as (
    select
        place,
        step,
        coalesce(json_type(step, '$.cell_id') <> 'VARCHAR', true)
        or coalesce(json_type(step, '$.position') <> 'NULL', false)
        and coalesce(json_type(step, '$.position') not in ('BIGINT', 'UBIGINT') or try_cast(step ->> '$.position' as bigint) is null, true) as is_malformed,
        json_type(step) = 'OBJECT'
        and len(list_filter(json_keys(step), lambda key: key not in ('position', 'cell_id', 'cell_fingerprint'))) > 0 as has_unknown_field
    from (
        select
            place,
            unnest(json_extract(event, '$.steps[*]')) as step
        from {{ governed_memory.relation('int_judged_frames') }}
    )
)
{%- endmacro %}
