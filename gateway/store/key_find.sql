-- $1 key ids
select wanted.number, tenant_id, tenant_name, hash, array_to_string(scopes, ' '), expires_at,
    coalesce(requests_per_second, 0)
from unnest($1::text[]) with ordinality as wanted (id, number), find_key(wanted.id)
