-- $1 tenant, $2 id. The time to its deadline begins anew.
update steps
set state = 'queued', attempts = 0, ended_at = null, run_after = now(), is_cancel_requested = false,
    deadline_at = now() + (deadline_at - created_at)
where tenant_id = $1 and id = $2 and state = 'dead'
