-- $1 owner
update steps
set state = 'queued', attempts = attempts - 1, run_after = now(), lease_owner = null, lease_until = null
where lease_owner = $1 and state in ('leased', 'running') and is_async
