-- A key whose first request is being worked on is held by a gateway, and no longer than that gateway lives.
set local role sluice_owner;
set local search_path = sluice;

-- The gateway; null: one of the release before, whose keys are held until held_until.
alter table idempotency_keys add column holder text;
call open_to_queue('idempotency_keys');
grant select, update, delete on idempotency_keys to sluice_queue;

-- A gateway may say of another that it is gone when it has itself been there, without a gap, for as long as a place in
-- the pool lasts: after an outage of the database nobody is there at first, though all live.
alter table pool_gateways add column judges_from timestamptz not null default 'infinity';
grant select on pool_gateways to sluice_app;

reset role;
