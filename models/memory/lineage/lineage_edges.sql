-- One definition of what derives from what; `gmem trace` walks the same (macros/memory/lineage.sql)
with

evidence as (
    {{ governed_memory.lineage_evidence(governed_memory.relation('schema_candidates'), governed_memory.relation('skill_candidates')) }}
)

{{ governed_memory.lineage_edges('evidence') }}
