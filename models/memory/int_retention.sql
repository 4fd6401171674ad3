-- A segment holds cells of every system, so the one kept longest decides; one that is kept for good keeps the stream
select
    stream,
    max(keep_days) as keep_days
from {{ governed_memory.relation('retention_policies') }}
group by stream
having count(*) = count(keep_days)
