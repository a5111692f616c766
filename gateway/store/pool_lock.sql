-- Begins a round: the others wait here, but not long for one whose gateway was stopped in it. Returns the state, the
-- seconds since the last round, and a number that is the next one every second.
insert into pool (is_only) values (true)
on conflict (is_only) do update set is_only = true
returning virtual_time, service, extract(epoch from clock_timestamp() - settled_at)::double precision,
    extract(epoch from clock_timestamp())::bigint, set_config('idle_in_transaction_session_timeout', '2000', true)
