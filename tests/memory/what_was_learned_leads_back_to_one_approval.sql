-- M7: a cell that was learned has an approval of that cell, which an approver signed
select cells.cell_id
from {{ ref('cells') }} as cells
left join {{ ref('approvals') }} as approvals
    on cells.approval_id = approvals.approval_id and cells.cell_id = approvals.cell_id and approvals.verdict = 'approve' and approvals.is_signed
where cells.transition = 'consolidate' and approvals.approval_id is null
