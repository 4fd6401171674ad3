{{ config(materialized='table_function', parameters=[
    'words', 'caller', 'session', "parties := []::varchar[]", "boundary := 'inside'", 'across_sessions := false', 'asked_system := null',
    'known_by := null', 'clock := null', 'most := 10'
]) }}
{{ governed_memory.recalled(
    'term in (select unnest(words))', 'len(words)', 'asked_system', "cast(coalesce(cast(clock as timestamp), (select built_at from "
    ~ governed_memory.relation('stg_build') ~ ')) as timestamp)', 'false', 'most', {
        'principal': 'caller', 'session_id': 'session', 'parties': 'parties', 'boundary': 'boundary', 'is_global': 'across_sessions',
        'on_date': 'cast(known_by as date)'
    }
) }}
