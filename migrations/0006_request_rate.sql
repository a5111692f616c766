set local role sluice_owner;
set local search_path = sluice;

create policy find_by_id on quotas for select to sluice_owner using (true);

-- How many requests a second the key's tenant may send is asked with the key, so that it costs no statement.
drop function find_key;
create function find_key(key_id text)
returns table (tenant_id uuid, tenant_name text, hash bytea, scopes text[], expires_at timestamptz,
    requests_per_second bigint)
language sql stable security definer set search_path = pg_catalog, pg_temp
begin atomic
    select key.tenant_id, tenant.name, key.hash, key.scopes, key.expires_at, quota.requests_per_second
    from sluice.api_keys as key
    join sluice.tenants as tenant on tenant.id = key.tenant_id
    left join sluice.quotas as quota on quota.tenant_id = key.tenant_id
    where key.id = key_id and key.revoked_at is null and tenant.disabled_at is null
        and (key.expires_at is null or key.expires_at > now());
end;
grant execute on function find_key to sluice_auth;
reset role;
