-- usable from 19
-- The run that a synchronous step's key stands for: workers know it by the id of the first step that was made for the
-- key, so that a gateway that takes the key over learns from them what has become of that run.
set local role sluice_owner;
set local search_path = sluice;

alter table idempotency_keys
    add column run_id uuid,               -- null: the key is of another request, or of the release before
    add column run_holds bigint not null default 1, -- how many requests have held the key, one after the other
    add column run_begun_at timestamptz not null default now();
reset role;
