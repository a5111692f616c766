set local role sluice_owner;
set local search_path = sluice;

create table sessions (
    tenant_id uuid not null references tenants on delete cascade,
    id uuid not null,
    name text not null default '' check (length(name) <= 200),
    options jsonb not null default '{}',
    version bigint not null default 1,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    primary key (tenant_id, id)
);
call protect('sessions');
grant select, insert, update, delete on sessions to sluice_app;

-- Content-addressed bytes: sources of graphs, feeds, outputs. Kept while a row refers to them or they are new.
create table blobs (
    tenant_id uuid not null references tenants on delete cascade,
    sha256 bytea not null check (length(sha256) = 32),
    size bigint not null check (size between 0 and 67108864),
    created_at timestamptz not null default now(),
    used_at timestamptz not null default now(),
    primary key (tenant_id, sha256)
);
create table blob_chunks (
    tenant_id uuid not null,
    sha256 bytea not null,
    number integer not null check (number >= 0),
    bytes bytea not null check (length(bytes) <= 1048576),
    primary key (tenant_id, sha256, number),
    foreign key (tenant_id, sha256) references blobs on delete cascade
);
-- Tensors seldom compress; trying costs more than it saves.
alter table blob_chunks alter column bytes set storage external;
call protect('blobs');
call protect('blob_chunks');
grant select, insert, update, delete on blobs, blob_chunks to sluice_app;

-- Counted here, so that a quota costs no sum over all blobs.
create table usages (
    tenant_id uuid primary key references tenants on delete cascade,
    stored_bytes bigint not null default 0
);
call protect('usages');
grant select, insert, update on usages to sluice_app;

create function count_stored_bytes() returns trigger
language plpgsql set search_path = sluice, pg_temp as $$
begin
    if tg_op = 'INSERT' then
        insert into usages (tenant_id, stored_bytes) values (new.tenant_id, new.size)
        on conflict (tenant_id) do update set stored_bytes = usages.stored_bytes + new.size;
    else
        update usages set stored_bytes = stored_bytes - old.size where tenant_id = old.tenant_id;
    end if;
    return null;
end $$;
create trigger blob_is_counted after insert or delete on blobs
    for each row execute function count_stored_bytes();

create table graphs (
    tenant_id uuid not null,
    id uuid not null,
    session_id uuid not null,
    parent_id uuid,
    digest bytea not null check (length(digest) = 32),
    media_type text not null,
    source_sha256 bytea not null,
    summary jsonb not null,
    created_at timestamptz not null default now(),
    primary key (tenant_id, id),
    -- The same bytes sent twice are one graph.
    unique (tenant_id, session_id, source_sha256, media_type),
    -- Of two that extend the same graph, one loses.
    unique (tenant_id, parent_id),
    foreign key (tenant_id, session_id) references sessions on delete cascade,
    foreign key (tenant_id, source_sha256) references blobs
);
create index on graphs (tenant_id, session_id, id desc);
create index on graphs (tenant_id, source_sha256);
call protect('graphs');
grant select, insert, delete on graphs to sluice_app;
reset role;
