set local role sluice_owner;
set local search_path = sluice;

-- gateway/domain/step_state.c holds the same two tables; a test compares them.
create table step_states (
    name text primary key,
    is_initial boolean not null,
    is_ended boolean not null
);
insert into step_states values
    ('queued', true, false), ('leased', false, false), ('running', true, false),
    ('succeeded', false, true), ('failed', false, true), ('cancelled', false, true),
    ('expired', false, true), ('dead', false, true);
create table step_moves (
    from_state text not null references step_states,
    to_state text not null references step_states,
    primary key (from_state, to_state)
);
insert into step_moves values
    ('queued', 'leased'), ('queued', 'cancelled'), ('queued', 'expired'),
    ('leased', 'running'), ('leased', 'queued'), ('leased', 'failed'), ('leased', 'cancelled'),
    ('leased', 'expired'), ('leased', 'dead'),
    ('running', 'succeeded'), ('running', 'queued'), ('running', 'failed'), ('running', 'cancelled'),
    ('running', 'expired'), ('running', 'dead'),
    ('dead', 'queued');
grant select on step_states, step_moves to sluice_app, sluice_queue;

-- A step's id is a UUID of version 7 (RFC 9562 5.7): its first 48 bits are the milliseconds since 1970.
create function step_created_at(id uuid) returns timestamptz
language sql immutable strict parallel safe
return to_timestamp(('x' || lpad(replace(left(id::text, 13), '-', ''), 16, '0'))::bit(64)::bigint / 1000.0);
grant execute on function step_created_at to sluice_app, sluice_queue;

-- Hot: what is queued or running, and for a while what has just ended.
create table steps (
    tenant_id uuid not null references tenants on delete cascade,
    id uuid not null,
    session_id uuid not null, -- no foreign key: the record of a step outlives its session
    graph_id uuid not null,
    state text not null references step_states,
    is_async boolean not null,
    priority smallint not null default 1 check (priority between 0 and 2),
    cost double precision not null default 1 check (cost > 0), -- device-seconds, estimated
    request jsonb not null,
    attempts integer not null default 0,
    attempts_max integer not null default 3,
    fence bigint not null default 0,
    lease_owner text,
    lease_until timestamptz,
    run_after timestamptz not null default now(),
    deadline_at timestamptz not null,
    is_cancel_requested boolean not null default false,
    created_at timestamptz not null,
    started_at timestamptz,
    ended_at timestamptz,
    error_code text,
    error_message text,
    error_node text,
    stats jsonb not null default '{}',
    primary key (tenant_id, id)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500);
create index steps_claim on steps (tenant_id, priority, id) where state = 'queued';
-- Not on lease_until: a heartbeat that changes no index is cheap.
create index steps_held on steps (lease_owner) where state in ('leased', 'running');
create index steps_expiry on steps (deadline_at) where state = 'queued';
create index steps_ended on steps (ended_at) where ended_at is not null;
create index steps_session on steps (tenant_id, session_id, id desc);
call protect('steps');
call open_to_queue('steps');
grant select, insert, update on steps to sluice_app;
grant select, insert, update, delete on steps to sluice_queue;

create function step_check_state() returns trigger
language plpgsql set search_path = sluice, pg_temp as $$
begin
    if tg_op = 'INSERT' then
        if not exists (select from step_states where name = new.state and is_initial) then
            raise exception 'a step cannot begin as ''%''', new.state using errcode = 'SL001';
        end if;
    elsif not exists (select from step_moves where from_state = old.state and to_state = new.state) then
        raise exception 'a step cannot move from ''%'' to ''%''', old.state, new.state
            using errcode = 'SL001';
    end if;
    return new;
end $$;
create trigger step_begins before insert on steps for each row execute function step_check_state();
create trigger step_moves before update of state on steps for each row
    when (old.state is distinct from new.state) execute function step_check_state();

-- What goes into a step and comes out of it, by reference.
create table step_feeds (
    tenant_id uuid not null,
    step_id uuid not null,
    position integer not null,
    name text not null,
    dtype text not null,
    shape bigint[] not null,
    sha256 bytea not null,
    primary key (tenant_id, step_id, position),
    foreign key (tenant_id, step_id) references steps on delete cascade,
    foreign key (tenant_id, sha256) references blobs
);
create index on step_feeds (tenant_id, sha256);
call protect('step_feeds');
call open_to_queue('step_feeds');
grant select, insert on step_feeds to sluice_app;
grant select on step_feeds to sluice_queue;

create table step_outputs (
    tenant_id uuid not null references tenants on delete cascade,
    step_id uuid not null, -- in steps or in step_history
    position integer not null,
    name text not null,
    dtype text not null,
    shape bigint[] not null,
    sha256 bytea not null,
    created_at timestamptz not null default now(),
    primary key (tenant_id, step_id, position),
    foreign key (tenant_id, sha256) references blobs
);
create index on step_outputs (tenant_id, sha256);
create index on step_outputs (created_at);
call protect('step_outputs');
grant select, insert, delete on step_outputs to sluice_app;

-- What has ended. A partition holds the steps created on one day (UTC), so that an id tells its partition.
create table step_history (
    tenant_id uuid not null,
    id uuid not null,
    session_id uuid not null,
    graph_id uuid not null,
    state text not null,
    is_async boolean not null,
    priority smallint not null,
    request jsonb not null,
    attempts integer not null,
    created_at timestamptz not null,
    started_at timestamptz,
    ended_at timestamptz not null,
    error_code text,
    error_message text,
    error_node text,
    stats jsonb not null,
    primary key (created_at, tenant_id, id)
) partition by range (created_at);
create index on step_history (tenant_id, id desc);
create index on step_history (tenant_id, session_id, id desc);
call protect('step_history');
call open_to_queue('step_history');
grant select on step_history to sluice_app;
grant select, insert on step_history to sluice_queue;

-- Both, for readers. created_at = step_created_at(id) finds the one partition that can hold an id.
create view step_records with (security_invoker = true) as
select tenant_id, id, session_id, graph_id, state, is_async, priority, request, attempts, fence,
    is_cancel_requested, created_at, started_at, ended_at, deadline_at, error_code, error_message, error_node,
    stats
from steps
union all
select tenant_id, id, session_id, graph_id, state, is_async, priority, request, attempts, 0::bigint, false,
    created_at, started_at, ended_at, null::timestamptz, error_code, error_message, error_node, stats
from step_history;
grant select on step_records to sluice_app, sluice_queue;

-- Seconds before attempt number `attempts` + 1: doubling up to a minute, the upper half of it at random.
create function retry_pause(attempts integer) returns interval
language sql volatile
return least(60, 0.25 * 2 ^ least(attempts, 10)) * (0.5 + random() / 2) * interval '1 second';
grant execute on function retry_pause to sluice_app, sluice_queue;

-- Makes the partitions from two days ago to `days_ahead` from now and drops those older than `days_kept`.
create function roll_step_history(days_ahead integer, days_kept integer)
returns integer language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    today constant date := (now() at time zone 'UTC')::date;
    day date;
    partition name;
    changed integer := 0;
begin
    if days_ahead not between 1 and 30 or days_kept not between 2 and 3650 then
        raise exception 'days ahead must be 1 to 30 and days kept 2 to 3650, not % and %',
            days_ahead, days_kept using errcode = '22023';
    end if;
    perform pg_advisory_xact_lock(hashtextextended('sluice.roll_step_history', 0));
    for day in select today + number from generate_series(-2, days_ahead) as number loop
        partition := 'step_history_' || to_char(day, 'YYYYMMDD');
        if to_regclass('sluice.' || partition) is null then
            execute format('create table sluice.%I partition of sluice.step_history for values from (%L) to (%L)',
                partition, day::text || ' 00:00:00+00', (day + 1)::text || ' 00:00:00+00');
            changed := changed + 1;
        end if;
    end loop;
    for partition in
        select child.relname
        from pg_inherits
        join pg_class as child on child.oid = inhrelid
        where inhparent = 'sluice.step_history'::regclass
            and child.relname < 'step_history_' || to_char(today - days_kept, 'YYYYMMDD')
    loop
        execute format('drop table sluice.%I', partition);
        changed := changed + 1;
    end loop;
    return changed;
end $$;
grant execute on function roll_step_history to sluice_queue;
select roll_step_history(7, 30);

-- The first answer to a request that may be sent again.
create table idempotency_keys (
    tenant_id uuid not null references tenants on delete cascade,
    key text not null check (length(key) between 1 and 255),
    request_sha256 bytea not null check (length(request_sha256) = 32),
    owner uuid not null, -- the request that holds the key; a late finish of another changes nothing
    held_until timestamptz not null,
    http_status integer, -- null while the first request runs
    location text,
    content_type text,
    body bytea,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null default now() + interval '24 hours',
    primary key (tenant_id, key)
);
create index on idempotency_keys (expires_at);
call protect('idempotency_keys');
grant select, insert, update, delete on idempotency_keys to sluice_app;
reset role;
