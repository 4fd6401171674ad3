{{ config(materialized='table') }}
{{ governed_memory.supersession_reasons() }}
