{#- What tests of a level read, and no model: dbt builds nothing behind both models that a failing test reads, and the worklist is behind
    `findings`. It is wanted most where a level is missed. -#}
select *
from {{ governed_memory.relation('findings') }}
where severity = 'error'
