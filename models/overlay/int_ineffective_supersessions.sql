{{ config(materialized='table') }}
{{ governed_memory.ineffective_supersessions() }}
