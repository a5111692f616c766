-- $1 tenant, $2 key, $3 owner, $4 status, $5 location, $6 content type, $7 body
update idempotency_keys
set http_status = $4, location = $5, content_type = $6, body = $7
where tenant_id = $1 and key = $2 and owner = $3
