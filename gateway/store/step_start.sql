-- $1 tenant, $2 id, $3 fence
update steps
set state = 'running', started_at = coalesce(started_at, now())
where tenant_id = $1 and id = $2 and fence = $3 and state = 'leased'
