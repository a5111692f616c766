-- $1 key id
select tenant_id, tenant_name, hash, array_to_string(scopes, ' '), expires_at, coalesce(requests_per_second, 0)
from find_key($1)
