set local role sluice_owner;
set local search_path = sluice;

-- A graph that extends another one is that one's next version, whose own source is what was added. It stands
-- for itself: its base may be deleted.
alter table graphs add column version bigint not null default 1 check (version >= 1);

-- The same bytes added to two graphs make two graphs: the digest tells them apart.
alter table graphs
    drop constraint graphs_tenant_id_session_id_source_sha256_media_type_key,
    add unique (tenant_id, session_id, digest, media_type);

-- The sources that an extended graph was made of before its own, by the versions that they made.
create table graph_parts (
    tenant_id uuid not null,
    graph_id uuid not null,
    version bigint not null check (version >= 1),
    source_sha256 bytea not null,
    media_type text not null,
    primary key (tenant_id, graph_id, version),
    foreign key (tenant_id, graph_id) references graphs on delete cascade,
    foreign key (tenant_id, source_sha256) references blobs
);
create index on graph_parts (tenant_id, source_sha256);
call protect('graph_parts');
grant select, insert, delete on graph_parts to sluice_app;

-- Which graph is the newest, by the database's clock alone.
create index on graphs (tenant_id, session_id, created_at desc, id desc);
reset role;
