-- $1 tenant, $2 key id
update api_keys set revoked_at = coalesce(revoked_at, now()) where tenant_id = $1 and id = $2
