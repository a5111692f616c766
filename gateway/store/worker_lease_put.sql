-- $1 name, $2 address, $3 incarnation, $4 lease in milliseconds, $5 whether the worker that has the name is lost. A process
-- that has the address has it alone. No row is touched when another life has the name, elsewhere, and is not lost.
insert into worker_leases (name, address, incarnation, lease_ms)
values ($1, $2, $3, $4)
on conflict (name) do update
set address = excluded.address, incarnation = excluded.incarnation, lease_ms = excluded.lease_ms,
    beats = worker_leases.beats + 1, renewed_at = clock_timestamp()
where worker_leases.incarnation = excluded.incarnation or worker_leases.address = excluded.address or $5
