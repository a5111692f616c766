-- $1 key id
select tenant_id, tenant_name, hash, array_to_string(scopes, ' '), expires_at from find_key($1)
