-- Who may do what. Roles belong to the cluster, not to one database: they are made when missing.
--   sluice_owner  owns everything, cannot log in: migrations become it
--   sluice_app    request paths; sees one tenant at a time
--   sluice_queue  claims, leases, batch records; sees the work of all tenants
--   sluice_auth   may call one function: key id -> hash, tenant, scopes
do $$
declare
    wanted record;
begin
    for wanted in
        select * from (values ('sluice_owner', 'nologin'), ('sluice_app', 'login'),
            ('sluice_queue', 'login'), ('sluice_auth', 'login')) as roles (name, login)
    loop
        if not exists (select from pg_roles where rolname = wanted.name) then
            begin
                execute format('create role %I %s', wanted.name, wanted.login);
            exception when duplicate_object or unique_violation then
                null; -- the migration of another database of this cluster was quicker
            end;
        end if;
    end loop;
    if not pg_has_role(current_user, 'sluice_owner', 'member') then
        execute format('grant sluice_owner to %I', current_user);
    end if;
end $$;

create schema sluice authorization sluice_owner;
grant usage on schema sluice to sluice_app, sluice_queue, sluice_auth;

set local role sluice_owner;
set local search_path = sluice;
alter default privileges for role sluice_owner revoke execute on functions from public;

create table schema_version (
    version integer primary key,
    name text not null,
    checksum bytea not null check (length(checksum) = 32),
    applied_at timestamptz not null default now()
);
grant select on schema_version to sluice_app, sluice_queue, sluice_auth;

-- Called by every migration for every table that holds rows of tenants. After SET LOCAL the setting is an
-- empty string, not null, for the rest of the connection's life; hence nullif.
create procedure protect(tenant_table regclass, tenant_column text default 'tenant_id')
language plpgsql as $$
declare
    rule constant text :=
        format('%I = nullif(current_setting(''app.tenant'', true), '''')::uuid', tenant_column);
begin
    execute format('alter table %s enable row level security', tenant_table);
    execute format('alter table %s force row level security', tenant_table);
    execute format('create policy own_tenant on %s using (%s) with check (%s)', tenant_table, rule, rule);
end $$;

-- What sluice_queue may see of all tenants.
create procedure open_to_queue(tenant_table regclass)
language plpgsql as $$
begin
    execute format('create policy all_tenants on %s to sluice_queue using (true) with check (true)',
        tenant_table);
end $$;
reset role;
