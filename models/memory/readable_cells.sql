{{ config(materialized='table_function', parameters=[
    'caller', 'session', "parties := []::varchar[]", "boundary := 'inside'", 'across_sessions := false', 'known_by := null'
]) }}
select cells.*
from {{ governed_memory.relation('live_cells') }} as cells
where
    {{ governed_memory.readable('cells', {
        'principal': 'caller', 'session_id': 'session', 'parties': 'parties', 'boundary': 'boundary', 'is_global': 'across_sessions',
        'on_date': 'cast(known_by as date)'
    }) }}
