-- Synchronous steps that run for long, as the gateways that run them report them twice a second: lists show them, so that
-- they can be found and cancelled. A row that is not renewed means nothing; a crash may lose them all.
set local role sluice_owner;
set local search_path = sluice;

create unlogged table running_steps (
    tenant_id uuid not null,
    id uuid not null,
    session_id uuid not null,
    graph_id uuid not null,
    started_at timestamptz not null,
    seen_at timestamptz not null default now(),
    primary key (tenant_id, id)
);
call protect('running_steps');
call open_to_queue('running_steps');
grant select on running_steps to sluice_app;
grant select, insert, update, delete on running_steps to sluice_queue;
reset role;
