-- M12: on the control every adapter adds exactly nothing, and the model's path is the base's bit for bit
select
    sites.run_id,
    sites.layer,
    sites.control_delta_norm
from {{ ref('intervention_sites') }} as sites
inner join {{ ref('intervention_runs') }} as runs on sites.run_id = runs.run_id
where sites.control_delta_norm is distinct from 0.0 or not coalesce(runs.control_equals_base, false)
