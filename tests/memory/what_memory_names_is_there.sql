-- M2: what is named is there, in a snapshot as in the log it is taken of; restoring asks the same of the copies that it has checked (M11)
select
    stream,
    object_id,
    field,
    named_stream,
    named_id
from {{ ref('unresolved_references') }}
