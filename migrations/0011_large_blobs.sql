-- Blobs of any size: those that are uploaded lie where --blob-store says, under a location of their own, and rows name
-- every location that may hold bytes: of an upload, of a blob, or of a removal that is due. Nothing is written to a
-- store before such a row is committed, so that a crash leaves nothing that nobody knows of.
set local role sluice_owner;
set local search_path = sluice;

-- A location is "postgres:<uuid>" (blob_pieces), "folder:<path>" or "s3:<key>". A blob without one has its bytes in
-- blob_chunks. A location is never used twice: the same bytes uploaded again get another one.
alter table blobs
    drop constraint blobs_size_check,
    add check (size >= 0),
    add column location text;

-- Begun and not complete. It counts as stored with its whole size.
create table blob_uploads (
    tenant_id uuid not null references tenants on delete cascade,
    sha256 bytea not null check (length(sha256) = 32),
    size bigint not null check (size >= 0),
    location text not null,
    state text not null default '',               -- what the store needs to go on: S3's upload id
    received bigint not null default 0,           -- bytes in the store: whole parts
    digest_state bytea not null default '',       -- of SHA-256 after these
    tail bytea not null default '',               -- bytes behind them, less than a part
    fence bigint not null default 1,              -- of the request that writes; one that comes later has a higher one
    lease_until timestamptz not null,             -- until then no other request may write
    created_at timestamptz not null default now(),
    used_at timestamptz not null default now(),
    primary key (tenant_id, sha256),
    check (received >= 0 and received + length(tail) <= size)
);
call protect('blob_uploads');
grant select, insert, update, delete on blob_uploads to sluice_app;
create trigger uploads_are_counted_in after insert on blob_uploads
    referencing new table as changed for each statement execute function count_stored_bytes();
create trigger uploads_are_counted_out after delete on blob_uploads
    referencing old table as changed for each statement execute function count_stored_bytes();

-- What the store answered to each part of an upload (S3's ETag).
create table blob_upload_parts (
    tenant_id uuid not null,
    sha256 bytea not null,
    number bigint not null check (number >= 0),
    tag text not null,
    primary key (tenant_id, sha256, number),
    foreign key (tenant_id, sha256) references blob_uploads on delete cascade
);
call protect('blob_upload_parts');
grant select, insert, update, delete on blob_upload_parts to sluice_app;

-- The bytes of the locations "postgres:<id>".
create table blob_pieces (
    tenant_id uuid not null references tenants on delete cascade,
    id uuid not null,
    number bigint not null check (number >= 0),
    bytes bytea not null check (length(bytes) <= 1048576),
    primary key (tenant_id, id, number)
);
alter table blob_pieces alter column bytes set storage external;
call protect('blob_pieces');
grant select, insert, delete on blob_pieces to sluice_app;

-- Locations whose bytes nobody needs; tried again until the store has removed them.
create table blob_removals (
    tenant_id uuid not null references tenants on delete cascade,
    location text not null,
    attempts bigint not null default 0,
    last_error text not null default '',
    due_at timestamptz not null default now(),
    created_at timestamptz not null default now(),
    primary key (tenant_id, location)
);
call protect('blob_removals');
grant select, insert, update, delete on blob_removals to sluice_app;

-- Bytes that are a part of a file: a weight of a model. The same bytes may be found in several files.
create table blob_ranges (
    tenant_id uuid not null,
    sha256 bytea not null check (length(sha256) = 32),
    file_sha256 bytea not null,
    file_offset bigint not null check (file_offset >= 0),
    size bigint not null check (size >= 0),
    primary key (tenant_id, sha256, file_sha256),
    foreign key (tenant_id, file_sha256) references blobs on delete cascade
);
create index on blob_ranges (tenant_id, file_sha256);
call protect('blob_ranges');
grant select, insert, delete on blob_ranges to sluice_app;

-- The files that a graph's weights lie in, beside its source.
create table graph_files (
    tenant_id uuid not null,
    graph_id uuid not null,
    sha256 bytea not null,
    primary key (tenant_id, graph_id, sha256),
    foreign key (tenant_id, graph_id) references graphs on delete cascade,
    foreign key (tenant_id, sha256) references blobs
);
create index on graph_files (tenant_id, sha256);
call protect('graph_files');
grant select, insert, delete on graph_files to sluice_app;
reset role;
