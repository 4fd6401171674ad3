{#- With known_on or scope given: what record_intervals_at returns for the same, on the build's date. -#}
{%- set as_of = governed_memory.relation('records_as_of') -%}
{%- set intervals_at = governed_memory.relation('record_intervals_at') -%}
{%- set day = "(select on_date from " ~ governed_memory.relation('stg_build') ~ ")" -%}
{%- set class = "(select max(question_class_id) from " ~ governed_memory.relation('rule_scopes') ~ ")" -%}
{%- set known = "(select max(built_at) from " ~ governed_memory.relation('stg_build') ~ ")" -%}
with

differences as (
    {% for parameters in ["scope := []", "known_on := " ~ known ~ ", scope := [" ~ class ~ "]"] -%}
    (
        select '{{ loop.index }}' as read_number, * from {{ as_of }}({{ day }}, {{ parameters }})
        except all
        select '{{ loop.index }}', * from {{ intervals_at }}({{ parameters }})
        where in_force_from <= {{ day }} and coalesce(in_force_to >= {{ day }}, true)
    )
    union all
    (
        select '{{ loop.index }}', * from {{ intervals_at }}({{ parameters }})
        where in_force_from <= {{ day }} and coalesce(in_force_to >= {{ day }}, true)
        except all
        select '{{ loop.index }}', * from {{ as_of }}({{ day }}, {{ parameters }})
    )
    {% if not loop.last %}union all{% endif %}
    {% endfor %}
)

select distinct read_number, store_id, record_index, record_id from differences
