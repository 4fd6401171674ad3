-- One definition of what derives from what; `gmem trace` walks the same (macros/memory/lineage.sql)
with

candidates as (select * from {{ governed_memory.relation('schema_candidates') }}),

evidence as (
    {{ governed_memory.lineage_evidence('candidates') }}
)

{{ governed_memory.lineage_edges('evidence') }}
