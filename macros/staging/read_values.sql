{#- How one JSON value of a store reads, whatever the store (L1, T1, T2). Used only by record_rows. -#}

{#- Blank as Unicode has it: separators, tab to carriage return, U+001C to U+001F and U+0085. -#}
{% macro is_blank(text) -%}
    regexp_full_match({{ text }}, '[\s\x0B\x1C-\x1F\x{85}\p{Z}]*')
{%- endmacro %}

{#- A role's value as record_rows keeps it: a list of texts or a text. -#}
{% macro role_value(role, rows) -%}
    {{- governed_memory.list_value(rows ~ '.' ~ role) if role in governed_memory.list_roles() else governed_memory.text_value(rows ~ '.' ~ role) -}}
{%- endmacro %}

{#- Whether a value says anything: not null, blank text, [] or {}. false and 0 do. JSON text begins with a quote: what follows it is a letter
    or digit in most values, which need no closer look. -#}
{% macro is_stated(column) -%}
    case
        when {{ column }} is null then false
        when cast({{ column }} as varchar) >= '"#' and cast({{ column }} as varchar) < '"[' then true
        when cast({{ column }} as varchar) >= '"a' and cast({{ column }} as varchar) < '"{' then true
        else {{ column }} not in ('[]', '{}', '""', 'null') and not {{ governed_memory.is_blank(column ~ " ->> '$'") }}
    end
{%- endmacro %}

{#- The text of a value that says anything. -#}
{% macro text_value(column) -%}
    case when {{ governed_memory.is_stated(column) }} then {{ column }} ->> '$' end
{%- endmacro %}

{#- A list of texts: one plain text is a list of one; [] and blanks are null (nothing stated). An object gives an empty list, and malformed_field says so. -#}
{% macro list_value(column) -%}
    case
        when {{ column }} in ('[]', '{}', '""', 'null') then null
        when starts_with({{ column }}, '[')
            then list_filter(from_json({{ column }}, '["VARCHAR"]'), lambda item: item is not null and not {{ governed_memory.is_blank('item') }})
        when starts_with({{ column }}, '{') then []::varchar[]
        when not {{ governed_memory.is_blank(column ~ " ->> '$'") }} then [{{ column }} ->> '$']
    end
{%- endmacro %}

{#- A calendar date as written, yyyy-mm-dd and nothing looser; null for anything else. -#}
{% macro plain_date(text) -%}
    case when length({{ text }}) = 10 and cast(try_cast({{ text }} as date) as varchar) = {{ text }} then try_cast({{ text }} as date) end
{%- endmacro %}

{#- The instant that a timestamp text names, as the wall clock of the zone; null where the text is no ISO timestamp. One without an
    offset is taken to be in the zone already. -#}
{% macro zoned_timestamp(text, zone) -%}
    case
        when regexp_full_match({{ text }}, '\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}([.]\d+)?)?') then try_cast({{ text }} as timestamp)
        when regexp_full_match({{ text }}, '\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}([.]\d+)?)? ?(Z|[+-]\d{2}(:?\d{2})?)')
            then timezone({{ zone }}, try_cast({{ text }} as timestamptz))
    end
{%- endmacro %}

{#- CTEs that read the first and last day out of the texts of rows (T1, T2): starts_on; ends_on, the last day that holds whatever the store's
    ends mean; and whether an end is a far-future sentinel. -#}
{% macro dated(texts) -%}
dates as (
    select
        *,
        {{ governed_memory.plain_date('valid_from') }} as valid_from_date,
        {{ governed_memory.plain_date('valid_to') }} as valid_to_date,
        case when length(valid_from) > 10 then {{ governed_memory.zoned_timestamp('valid_from', 'zone') }} end as valid_from_time,
        case when length(valid_to) > 10 then {{ governed_memory.zoned_timestamp('valid_to', 'zone') }} end as valid_to_time
    from {{ texts }}
),

dated as (
    select
        *,
        coalesce(valid_from_date, cast(valid_from_time as date)) as starts_on,
        coalesce(lower(valid_to) in ('infinity', '+infinity') or coalesce(valid_to_date, valid_to_time) >= date '9999-01-01', false) as is_end_sentinel,
        coalesce(
            valid_to_date - cast(is_valid_to_exclusive as integer),
            cast(case when is_valid_to_exclusive then valid_to_time - interval 1 microsecond else valid_to_time end as date)
        ) as ends_on
    from dates
)
{%- endmacro %}


{#- Texts outside a project, in a relation given_texts, as first and last day: what gmem reads a store of another form by (T1, T2). -#}
{% macro days_of_texts() -%}
with {{ governed_memory.dated('given_texts') }}

select place, starts_on, case when not is_end_sentinel then ends_on end as ends_on from dated
{%- endmacro %}
