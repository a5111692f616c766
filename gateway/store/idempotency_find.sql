-- $1 tenant, $2 key
select request_sha256, http_status, location, content_type, body
from idempotency_keys
where tenant_id = $1 and key = $2
