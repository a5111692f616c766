set local role sluice_owner;
set local search_path = sluice;

-- Where a session keeps its variables: a place is a worker task that nodes ask for, or -1 for all that ask for
-- none. Each binding to a worker's life has an epoch: a later one begins with nothing.
create table session_places (
    tenant_id uuid not null,
    session_id uuid not null,
    task integer not null check (task >= -1),
    epoch bigint not null default 1 check (epoch >= 1),
    worker text not null,
    incarnation text not null,
    bound_at timestamptz not null default now(),
    lost_worker text, -- whose loss made this binding necessary
    primary key (tenant_id, session_id, task),
    foreign key (tenant_id, session_id) references sessions on delete cascade
);
call protect('session_places');
grant select, insert, update on session_places to sluice_app;
reset role;
