-- M9: what is told of a concept is every side of its answer that the caller may see, and of a conflict every side there is
with

told as (
    select
        packets.packet_id,
        packets.caller_parties,
        packets.caller_boundary,
        packets.as_of,
        packets.scope,
        members.store_id,
        members.concept_id,
        list(members.member_id order by members.member_id) as member_ids
    from {{ ref('packets') }} as packets
    inner join {{ ref('packet_members') }} as members on packets.packet_id = members.packet_id
    where packets.is_of_this_build and packets.known_on is null and len(packets.scope) <= 1 and members.store_id is not null
    group by all
),

answers as (
    select
        told.packet_id,
        told.concept_id,
        told.member_ids,
        segments.resolution,
        list_sort(list_transform(segments.sides, lambda side: side.record_id)) as side_ids,  -- noqa: RF01
        list_sort(list_transform(
            list_filter(
                segments.sides,
                lambda side: {{ governed_memory.is_visible('side.is_restricted', 'side.release_to', 'told.caller_parties', 'told.caller_boundary') }}
            ),
            lambda side: side.record_id  -- noqa: RF01
        )) as visible_ids
    from told
    left join {{ ref('int_segments') }} as segments
        on told.store_id = segments.store_id and told.concept_id = segments.concept_id
        and (segments.question_class_id is null or segments.question_class_id = told.scope[1])
        and {{ governed_memory.covers('segments', 'told.as_of') }}
    qualify row_number() over (partition by told.packet_id, told.store_id, told.concept_id order by segments.question_class_id nulls last) = 1
)

select
    packet_id,
    concept_id
from answers
where
    coalesce(member_ids <> visible_ids, true)
    or (resolution in ('decided', 'unresolved') and member_ids <> side_ids)
