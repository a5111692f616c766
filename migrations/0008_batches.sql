-- Steps are queued in batches, and blobs stored: what is counted is counted once a statement, not once a row. (A
-- row that is updated a hundred times in one transaction is a chain that every update walks.) Moves of steps are
-- counted one by one, for claims make them so, but only those that change a count.
set local role sluice_owner;
set local search_path = sluice;

create function queue_count_new() returns trigger
language plpgsql set search_path = sluice, pg_temp as $$
begin
    insert into queues (tenant_id, priority, queued, running)
    select tenant_id, priority, count(*) filter (where state = 'queued'),
        count(*) filter (where state in ('leased', 'running'))
    from changed
    where is_async
    group by tenant_id, priority
    on conflict (tenant_id, priority) do update
    set queued = queues.queued + excluded.queued, running = queues.running + excluded.running;
    return null;
end $$;
drop trigger step_is_counted_first on steps;
create trigger steps_are_counted_first after insert on steps
    referencing new table as changed for each statement execute function queue_count_new();

create or replace function queue_count_step() returns trigger
language plpgsql set search_path = sluice, pg_temp as $$
begin
    update queues
    set queued = queued + (new.state = 'queued')::integer - (old.state = 'queued')::integer,
        running = running + (new.state in ('leased', 'running'))::integer
            - (old.state in ('leased', 'running'))::integer
    where tenant_id = new.tenant_id and priority = new.priority;
    return null;
end $$;
drop trigger step_is_counted on steps;
create trigger step_is_counted after update of state on steps for each row
    when (new.is_async and ((old.state = 'queued') <> (new.state = 'queued')
        or (old.state in ('leased', 'running')) <> (new.state in ('leased', 'running'))))
    execute function queue_count_step();

create or replace function count_stored_bytes() returns trigger
language plpgsql set search_path = sluice, pg_temp as $$
begin
    if tg_op = 'INSERT' then
        insert into usages (tenant_id, stored_bytes)
        select tenant_id, sum(size) from changed group by tenant_id
        on conflict (tenant_id) do update set stored_bytes = usages.stored_bytes + excluded.stored_bytes;
    else
        update usages set stored_bytes = stored_bytes - gone.size
        from (select tenant_id, sum(size) as size from changed group by tenant_id) as gone
        where usages.tenant_id = gone.tenant_id;
    end if;
    return null;
end $$;
drop trigger blob_is_counted on blobs;
create trigger blobs_are_counted_in after insert on blobs
    referencing new table as changed for each statement execute function count_stored_bytes();
create trigger blobs_are_counted_out after delete on blobs
    referencing old table as changed for each statement execute function count_stored_bytes();
reset role;
