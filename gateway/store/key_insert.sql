-- $1 tenant, $2 id, $3 name, $4 hash, $5 scopes separated by spaces, $6 expiry in microseconds since 1970 or null
insert into api_keys (tenant_id, id, name, hash, scopes, expires_at)
values ($1, $2, $3, $4, coalesce(string_to_array(nullif($5::text, ''), ' '), '{}'),
    timestamptz 'epoch' + $6::bigint * interval '1 microsecond')
