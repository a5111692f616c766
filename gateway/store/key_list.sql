select id, name, array_to_string(scopes, ' '), created_at, expires_at, revoked_at
from api_keys
where tenant_id = $1
order by created_at, id
limit 1000
