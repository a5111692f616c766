-- $1 tenant, $2 limit
delete from idempotency_keys
where tenant_id = $1 and key in (
    select key from idempotency_keys where tenant_id = $1 and expires_at < now() limit $2::bigint)
