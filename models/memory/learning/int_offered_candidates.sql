{#- What an approval may be given to. A writer puts the candidates there are, and what became of them, in this place; in a build that is past, and
    what the named evidence makes stands in for it. -#}
select distinct
    candidate_fingerprint,
    kind,
    true as is_current,
    false as is_approved,
    false as is_rejected,
    false as is_revoked
from {{ governed_memory.relation('int_approval_evidence') }}
where candidate_fingerprint is not null
