-- M9: a group enters whole or not at all, and never over the budget
select
    packets.packet_id,
    packets.used,
    packets.budget
from {{ ref('packets') }} as packets
where packets.used > packets.budget
