{#- What the guards look at: in a build every event that the log holds; a writer puts the events it is asked to write in this place. -#}
select
    row_number() over (order by writer, seq) as place,
    event
from {{ governed_memory.relation('stg_log_traces') }}
