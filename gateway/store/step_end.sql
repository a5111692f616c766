-- $1 tenant, $2 id, $3 fence, $4 state, $5 error code, $6 message, $7 node, $8 stats
update steps
set state = $4, ended_at = now(), lease_owner = null, lease_until = null, error_code = $5, error_message = $6,
    error_node = $7, stats = coalesce($8::jsonb, '{}')
where tenant_id = $1 and id = $2 and fence = $3 and state in ('leased', 'running')
