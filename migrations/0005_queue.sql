set local role sluice_owner;
set local search_path = sluice;

-- Start-time fair queueing on two levels: classes share by weight, and within a class tenants do. Times are
-- virtual: device-seconds over weight. Who comes back from idleness starts at the clock: no credit is saved.
create table queue_classes (
    priority smallint primary key,
    weight double precision not null check (weight > 0),
    virtual_finish double precision not null default 0,
    tenant_clock double precision not null default 0 -- of the tenants within this class
);
create table queue_clock (
    is_only boolean primary key default true check (is_only),
    class_clock double precision not null default 0 -- of the classes
);
insert into queue_clock default values;
insert into queue_classes (priority, weight) values (0, 1), (1, 3), (2, 6);
grant select on queue_classes to sluice_app;
grant select, update on queue_classes, queue_clock to sluice_queue;

create table queues (
    tenant_id uuid not null references tenants on delete cascade,
    priority smallint not null references queue_classes,
    virtual_finish double precision not null default 0,
    queued bigint not null default 0 check (queued >= 0),
    running bigint not null default 0 check (running >= 0),
    primary key (tenant_id, priority)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);
call protect('queues');
call open_to_queue('queues');
grant select, insert, update on queues to sluice_app, sluice_queue;

-- Counts what waits and what runs, whoever moves the step.
create function queue_count_step() returns trigger
language plpgsql set search_path = sluice, pg_temp as $$
declare
    queued_change integer := (new.state = 'queued')::integer;
    running_change integer := (new.state in ('leased', 'running'))::integer;
begin
    if tg_op = 'UPDATE' then
        queued_change := queued_change - (old.state = 'queued')::integer;
        running_change := running_change - (old.state in ('leased', 'running'))::integer;
    end if;
    if queued_change <> 0 or running_change <> 0 then
        insert into queues (tenant_id, priority, queued, running)
        values (new.tenant_id, new.priority, greatest(queued_change, 0), greatest(running_change, 0))
        on conflict (tenant_id, priority) do update
        set queued = queues.queued + queued_change, running = queues.running + running_change;
    end if;
    return null;
end $$;
create trigger step_is_counted_first after insert on steps for each row
    when (new.is_async) execute function queue_count_step();
create trigger step_is_counted after update of state on steps for each row
    when (new.is_async and old.state is distinct from new.state) execute function queue_count_step();

-- Leases up to `wanted` steps to `owner`, one after the other, each to the class and tenant that is most
-- behind. Claims are serial (the lock on queue_clock): take many at once. Costs O(active tenants) a step.
create function claim_steps(owner text, wanted integer, lease interval)
returns setof steps language plpgsql set search_path = sluice, pg_temp as $$
declare
    clock double precision;
    chosen record;
    claimed steps;
begin
    select class_clock into clock from queue_clock for update;
    for turn in 1..wanted loop
        select queue.tenant_id, queue.priority, step.id, step.cost / quota.weight as tenant_cost,
            step.cost / class.weight as class_cost,
            greatest(class.virtual_finish, clock) as class_start,
            greatest(queue.virtual_finish, class.tenant_clock) as tenant_start
        into chosen
        from queue_classes as class
        join queues as queue on queue.priority = class.priority
        join quotas as quota on quota.tenant_id = queue.tenant_id
        cross join lateral (
            select steps.id, steps.cost
            from steps
            where steps.tenant_id = queue.tenant_id and steps.priority = queue.priority
                and steps.state = 'queued' and steps.run_after <= now() and steps.deadline_at > now()
            order by steps.id
            limit 1
            for no key update skip locked
        ) as step
        where queue.queued > 0
            and quota.running_steps_max > (
                select sum(other.running) from queues as other where other.tenant_id = queue.tenant_id)
        order by class_start, tenant_start, queue.virtual_finish, queue.tenant_id
        limit 1;
        exit when not found;
        update steps
        set state = 'leased', attempts = attempts + 1, fence = fence + 1, lease_owner = owner,
            lease_until = clock_timestamp() + lease
        where steps.tenant_id = chosen.tenant_id and steps.id = chosen.id
        returning * into claimed;
        clock := greatest(clock, chosen.class_start);
        update queue_classes
        set virtual_finish = chosen.class_start + chosen.class_cost,
            tenant_clock = greatest(tenant_clock, chosen.tenant_start)
        where queue_classes.priority = chosen.priority;
        update queues
        set virtual_finish = chosen.tenant_start + chosen.tenant_cost
        where queues.tenant_id = chosen.tenant_id and queues.priority = chosen.priority;
        return next claimed;
    end loop;
    update queue_clock set class_clock = clock where class_clock <> clock;
end $$;
grant execute on function claim_steps to sluice_queue;

-- The worker pool, shared by all tenants: a name, its task number for ever, the operator's drain mark.
create table workers (
    name text primary key check (length(name) between 1 and 200),
    task integer not null unique check (task >= 0),
    address text not null,
    incarnation text not null,
    is_draining boolean not null default false,
    first_seen_at timestamptz not null default now(),
    last_seen_at timestamptz not null default now()
);
create table devices (
    task integer not null references workers (task) on delete cascade,
    name text not null,
    type text not null,
    memory_bytes bigint not null,
    attributes jsonb not null default '{}',
    primary key (task, name)
);
grant select on workers, devices to sluice_app;
grant update (is_draining) on workers to sluice_app;
grant select, insert, update, delete on workers, devices to sluice_queue;

-- What happened, in the order of each tenant's own sequence.
create table event_heads (
    tenant_id uuid primary key references tenants on delete cascade,
    sequence bigint not null
);
create table events (
    tenant_id uuid not null references tenants on delete cascade,
    sequence bigint not null,
    at timestamptz not null default clock_timestamp(),
    kind text not null,
    subject uuid,
    data jsonb not null default '{}',
    primary key (tenant_id, sequence)
);
create index on events (at);
call protect('event_heads');
call protect('events');
call open_to_queue('event_heads');
call open_to_queue('events');
grant select, insert, update on event_heads to sluice_app, sluice_queue;
grant select, insert on events to sluice_app, sluice_queue;
grant delete on events to sluice_queue;

-- Work that one replica does for all, such as maintenance. The fence grows with every new holder.
create table leases (
    name text primary key,
    owner text not null,
    fence bigint not null default 1,
    held_until timestamptz not null
);
grant select, insert, update on leases to sluice_queue;
reset role;
