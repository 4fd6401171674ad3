{{ config(materialized='table') }}
select * from {{ governed_memory.relation('stg_packet_exclusions') }}
