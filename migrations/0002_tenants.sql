set local role sluice_owner;
set local search_path = sluice;

create table tenants (
    id uuid primary key,
    name text not null unique check (name ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'),
    created_at timestamptz not null default now(),
    disabled_at timestamptz
);
call protect('tenants', 'id');
call open_to_queue('tenants');
grant select, insert, update, delete on tenants to sluice_app;
grant select on tenants to sluice_queue;

-- What a tenant may hold and use, and its weight in the queue.
create table quotas (
    tenant_id uuid primary key references tenants on delete cascade,
    weight double precision not null default 1 check (weight > 0),
    sessions_max bigint not null default 1000,
    graphs_max bigint not null default 10000,
    queued_steps_max bigint not null default 10000,
    running_steps_max bigint not null default 64,
    stored_bytes_max bigint not null default 10737418240,
    requests_per_second bigint not null default 10000
);
call protect('quotas');
call open_to_queue('quotas');
grant select, insert, update on quotas to sluice_app;
grant select on quotas to sluice_queue;

create table api_keys (
    tenant_id uuid not null references tenants on delete cascade,
    id text not null unique check (id ~ '^[0-9A-Za-z]{12}$'),
    name text not null default '',
    hash bytea not null check (length(hash) = 32),
    scopes text[] not null default '{}',
    created_at timestamptz not null default now(),
    expires_at timestamptz,
    revoked_at timestamptz,
    primary key (tenant_id, id)
);
call protect('api_keys');
create policy find_by_id on api_keys for select to sluice_owner using (true);
create policy find_by_id on tenants for select to sluice_owner using (true);
grant select, insert, update, delete on api_keys to sluice_app;

-- The one thing that may be asked before a tenant is known.
create function find_key(key_id text)
returns table (tenant_id uuid, tenant_name text, hash bytea, scopes text[], expires_at timestamptz)
language sql stable security definer set search_path = pg_catalog, pg_temp
begin atomic
    select key.tenant_id, tenant.name, key.hash, key.scopes, key.expires_at
    from sluice.api_keys as key
    join sluice.tenants as tenant on tenant.id = key.tenant_id
    where key.id = key_id and key.revoked_at is null and tenant.disabled_at is null
        and (key.expires_at is null or key.expires_at > now());
end;
grant execute on function find_key to sluice_auth;

-- The tenant of a gateway that runs without authentication, on a loopback address only.
select set_config('app.tenant', '00000000-0000-7000-8000-000000000001', true);
insert into tenants (id, name) values ('00000000-0000-7000-8000-000000000001', 'default');
insert into quotas (tenant_id) values ('00000000-0000-7000-8000-000000000001');
select set_config('app.tenant', '', true);
reset role;
