-- M12: nothing of the base is trainable, nothing of it has a gradient, and its weights are those of before; the adapters have gradients, so one was taken
select *
from {{ ref('intervention_runs') }}
where
    base_parameters_trainable is distinct from 0
    or base_parameters_with_gradient is distinct from 0
    or coalesce(adapter_parameters_with_gradient, 0) = 0
    or base_sha256_before != base_sha256_after
