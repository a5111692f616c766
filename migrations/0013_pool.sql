-- What the gateways tell each other about the pool's slots, several times a second. All of it is told anew after a
-- crash, so nothing of it goes into the log. It takes the place of the virtual times that claims kept.
set local role sluice_owner;
set local search_path = sluice;

create unlogged table pool (
    is_only boolean primary key default true check (is_only),
    virtual_time double precision not null default 0,
    service double precision not null default 0, -- device-seconds of the last while, decaying
    settled_at timestamptz not null default now()
) with (fillfactor = 10);
create unlogged table pool_gateways (
    owner text primary key,
    held_until timestamptz not null
) with (fillfactor = 10);
create unlogged table pool_tenants (
    tenant_id uuid primary key references tenants on delete cascade,
    virtual_time double precision not null
) with (fillfactor = 50);
create unlogged table pool_demands (
    owner text not null,
    tenant_id uuid not null references tenants on delete cascade,
    held_slots double precision not null,
    waiting_slots double precision not null,
    running bigint not null,
    waiting bigint not null,
    lent bigint not null,
    primary key (owner, tenant_id)
) with (fillfactor = 50);
call protect('pool_tenants');
call open_to_queue('pool_tenants');
call protect('pool_demands');
call open_to_queue('pool_demands');
grant select, insert, update, delete on pool, pool_gateways, pool_tenants, pool_demands to sluice_queue;

-- Claims no longer say who comes next in the pool: admission does, in the gateways' memory. They bring each gateway as
-- many steps of each tenant as it wants to have ready: `wanted` of those in `tenants`, `others` of the rest, and `room`
-- in all; tenants that are behind come first. Inside a tenant the priorities share by weight, counted in steps (start-time
-- fair queueing), and of each the oldest comes first. Claims are serial (the lock on queue_clock). Gateways of the
-- release before go on with the claim_steps() and the columns that they know.
create function claim_steps(new_owner text, tenants uuid[], wanted bigint[], others bigint, room bigint, lease interval)
returns setof steps language plpgsql set search_path = sluice, pg_temp as $$
declare
    tenant record;
    claimed steps;
    started record;
begin
    perform from queue_clock for update;
    for tenant in
        select queue.tenant_id as id, coalesce(named.wanted, others) as wanted, quota.running_steps_max
            - sum(queue.running) as free, max(queue.virtual_finish - 1 / class.weight) as clock
        from queues as queue
        join queue_classes as class on class.priority = queue.priority
        join quotas as quota on quota.tenant_id = queue.tenant_id
        left join unnest(tenants, wanted) as named (tenant_id, wanted) on named.tenant_id = queue.tenant_id
        left join pool_tenants as share on share.tenant_id = queue.tenant_id
        group by queue.tenant_id, named.wanted, quota.running_steps_max, share.virtual_time
        having sum(queue.queued) > 0 and coalesce(named.wanted, others) > 0
            and sum(queue.running) < quota.running_steps_max
        order by share.virtual_time nulls first, queue.tenant_id
    loop
        for started in
            select step.id, queue.priority, tag.start + 1 / class.weight as finish
            from queues as queue
            join queue_classes as class on class.priority = queue.priority
            cross join lateral (
                select oldest.id, row_number() over (order by oldest.id) - 1 as number
                from (
                    select steps.id
                    from steps
                    where steps.tenant_id = tenant.id and steps.priority = queue.priority
                        and steps.state = 'queued' and steps.run_after <= now() and steps.deadline_at > now()
                    order by steps.id
                    limit least(tenant.wanted, tenant.free, room)
                    for no key update skip locked
                ) as oldest
            ) as step
            cross join lateral (
                select greatest(queue.virtual_finish, tenant.clock) + step.number / class.weight as start
            ) as tag
            where queue.tenant_id = tenant.id and queue.queued > 0
            order by tag.start, queue.priority desc
            limit least(tenant.wanted, tenant.free, room)
        loop
            update steps
            set state = 'leased', attempts = attempts + 1, fence = fence + 1, lease_owner = new_owner,
                lease_until = clock_timestamp() + lease
            where steps.tenant_id = tenant.id and steps.id = started.id
            returning * into claimed;
            update queues set virtual_finish = started.finish
            where queues.tenant_id = tenant.id and queues.priority = started.priority;
            room := room - 1;
            return next claimed;
        end loop;
        exit when room <= 0;
    end loop;
end $$;
grant execute on function claim_steps(text, uuid[], bigint[], bigint, bigint, interval) to sluice_queue;
reset role;
