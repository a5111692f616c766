select id, name, options::text, version, created_at, updated_at
from sessions
where tenant_id = $1 and id = $2
