-- M12: each run has sites, each of which adds something finite where its gate is open and a slot takes part, and nothing where not
select
    runs.run_id,
    sites.layer,
    sites.memory_delta_norm
from {{ ref('intervention_runs') }} as runs
left join {{ ref('intervention_sites') }} as sites on runs.run_id = sites.run_id
where
    sites.run_id is null
    or not isfinite(sites.memory_delta_norm)
    or not isfinite(sites.hidden_norm_ratio)
    or (sites.memory_delta_norm > 0) is distinct from (sites.gate != 0 and runs.masked_in > 0)
    or (runs.is_diagnostic and sites.gate = 0)
    or (runs.weights = 'random' and runs.model_seed is null)
