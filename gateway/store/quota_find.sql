select weight, sessions_max, graphs_max, queued_steps_max, running_steps_max, stored_bytes_max,
    requests_per_second
from quotas
where tenant_id = $1
