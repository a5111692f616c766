-- $1 hashes
select wanted.number, tenant_id, tenant_name, path, key_id, coalesce(requests_per_second, 0)
from unnest($1::bytea[]) with ordinality as wanted (hash, number), find_ticket(wanted.hash)
