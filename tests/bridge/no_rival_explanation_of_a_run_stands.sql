-- M12: each control that was run measured what it had to
select *
from {{ ref('intervention_controls') }}
where (measured is not null and not coalesce(is_held, false)) or (measured is null and is_held is not null)
