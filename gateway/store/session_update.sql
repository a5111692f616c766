-- $1 tenant, $2 id, $3 version, $4 name or null, $5 options or null
update sessions
set name = coalesce($4::text, name), options = coalesce(jsonb_strip_nulls($5::jsonb), options), version = version + 1,
    updated_at = now()
where tenant_id = $1 and id = $2 and version = $3::bigint
returning id, name, options::text, version, created_at, updated_at
