-- $1 tenant, $2 key, $3 owner. The same request may take the key at once, and learns what has become of its run.
update idempotency_keys
set held_until = now(), holder = null
where tenant_id = $1 and key = $2 and owner = $3 and http_status is null
