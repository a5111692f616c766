-- $1 tenant, $2 key, $3 owner
delete from idempotency_keys where tenant_id = $1 and key = $2 and owner = $3 and http_status is null
