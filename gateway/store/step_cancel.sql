-- $1 tenant, $2 id
update steps
set state = case when state = 'queued' then 'cancelled' else state end,
    ended_at = case when state = 'queued' then now() end,
    error_code = case when state = 'queued' then 'CANCELLED' end,
    error_message = case when state = 'queued' then 'cancelled before it ran' end,
    is_cancel_requested = true
where tenant_id = $1 and id = $2 and state in ('queued', 'leased', 'running')
