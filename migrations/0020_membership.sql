-- Workers that join by themselves hold a lease, which their heartbeats renew. The gateways poll who is here, and whoever
-- has watched the leases for a whole lease without a gap takes those off that were not renewed.
-- usable from 19
set local role sluice_owner;
set local search_path = sluice;

create table worker_leases (
    name text primary key check (length(name) between 1 and 63),
    address text not null,
    incarnation text not null,
    lease_ms bigint not null check (lease_ms > 0),
    beats bigint not null default 1,
    renewed_at timestamptz not null default clock_timestamp()
);
grant select, insert, update, delete on worker_leases to sluice_queue;

-- The epoch rises with every worker that joins, begins a new life, leaves or is taken off.
create table membership (
    is_only boolean primary key default true check (is_only),
    epoch bigint not null
);
insert into membership (epoch) values (0);
grant select, update on membership to sluice_queue;

create function tell_of_workers() returns trigger
language plpgsql set search_path = sluice, pg_temp as $$
begin
    perform pg_notify('sluice_gateways', 'workers changed');
    return null;
end $$;

create function tell_of_member() returns trigger
language plpgsql set search_path = sluice, pg_temp as $$
begin
    update membership set epoch = epoch + 1;
    perform pg_notify('sluice_gateways', 'workers changed');
    return null;
end $$;
create trigger member_comes_or_goes after insert or delete on worker_leases for each row
    execute function tell_of_member();
create trigger member_is_another after update of address, incarnation on worker_leases for each row
    when (old.address <> new.address or old.incarnation <> new.incarnation) execute function tell_of_member();

create trigger worker_is_marked after update of is_draining on workers for each row
    when (old.is_draining <> new.is_draining) execute function tell_of_workers();
reset role;
