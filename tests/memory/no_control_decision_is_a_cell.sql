-- M2, M4: a cell is written as an observation or learned by an approval, and its system has a class of facts
select cells.cell_id
from {{ ref('cells') }} as cells
left join {{ ref('memory_objects') }} as objects on cells.system = objects.object and objects.object_kind = 'system'
left join {{ ref('authority_classes') }} as classes on objects.authority_class = classes.authority_class
where not coalesce(classes.is_fact, false) or cells.transition not in ('write', 'consolidate')
