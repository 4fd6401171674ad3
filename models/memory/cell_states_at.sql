{{ config(materialized='table_function', parameters=['clock']) }}
{{ governed_memory.cell_states('cast(clock as timestamp)') }}
