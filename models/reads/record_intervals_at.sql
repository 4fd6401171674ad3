{{ config(materialized='table_function', parameters=['known_on := null', 'scope := null']) }}
{{ governed_memory.intervals('known_on', 'scope') }}
