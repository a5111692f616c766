-- $1 tenant, $2 id, $3 fence, $4 whether the attempt counts, $5 error code, $6 message, $7 node
update steps
set state = case when $4 and attempts >= attempts_max then 'dead' else 'queued' end,
    ended_at = case when $4 and attempts >= attempts_max then now() end,
    attempts = attempts - (not $4)::integer,
    run_after = case when $4 then now() + retry_pause(attempts) else now() end,
    lease_owner = null, lease_until = null, error_code = $5, error_message = $6, error_node = $7
where tenant_id = $1 and id = $2 and fence = $3 and state in ('leased', 'running') and is_async
returning state
