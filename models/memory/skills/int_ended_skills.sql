-- A skill that was revoked, or of whose signature another was approved after it, is recalled no more; told by the approvals, which are few. What was
-- revoked brings no former one back: that it does not work was learned after it
select cell_id
from {{ governed_memory.relation('approvals') }}
where verdict = 'revoke' and kind = 'skill'
union
select cell_id
from (
    select
        cell_id,
        row_number() over (
            partition by {{ governed_memory.signature_mark('candidate_fingerprint') }}
            order by recorded_at desc, approval_id desc
        ) as place
    from {{ governed_memory.relation('approvals') }}
    where verdict = 'approve' and kind = 'skill'
)
where place > 1
