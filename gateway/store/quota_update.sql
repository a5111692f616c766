update quotas
set weight = $2, sessions_max = $3, graphs_max = $4, queued_steps_max = $5, running_steps_max = $6,
    stored_bytes_max = $7, requests_per_second = $8
where tenant_id = $1
