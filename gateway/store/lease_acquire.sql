-- $1 name, $2 owner, $3 milliseconds. No row when another holds it.
insert into leases (name, owner, held_until)
values ($1, $2, now() + $3::bigint * interval '1 millisecond')
on conflict (name) do update
set owner = excluded.owner, held_until = excluded.held_until,
    fence = leases.fence + (leases.owner <> excluded.owner)::integer
where leases.owner = excluded.owner or leases.held_until < now()
returning fence
