-- $1 hashes
select wanted.number, ticket.tenant_id, ticket.tenant_name, ticket.path, ticket.key_id, coalesce(ticket.requests_per_second, 0),
    key.expires_at
from unnest($1::bytea[]) with ordinality as wanted (hash, number), find_ticket(wanted.hash) as ticket
left join find_key(ticket.key_id) as key on true
