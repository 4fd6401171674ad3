{{ config(materialized='table_functions', overloads=[
    'first_date, second_date', 'first_date, second_date, known_on', 'first_date, second_date, first_known_on, second_known_on'
]) }}
{#- The first and usual way only scans what the build has worked out. -#}
{{ governed_memory.changes() }}
;
{{ governed_memory.changes('known_on', 'known_on') }}
;
{{ governed_memory.changes('first_known_on', 'second_known_on') }}
