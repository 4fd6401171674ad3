-- G5: each record that is told may be seen by the caller it is told to
select
    packets.packet_id,
    packets.caller,
    members.member_id
from {{ ref('packets') }} as packets
inner join {{ ref('packet_members') }} as members on packets.packet_id = members.packet_id
left join {{ ref('records') }} as records
    on members.store_id = records.store_id and members.member_id = records.record_id
    and {{ governed_memory.is_visible('records.is_restricted', 'records.release_to', 'packets.caller_parties', 'packets.caller_boundary') }}
where packets.is_of_this_build and members.store_id is not null and records.record_id is null
