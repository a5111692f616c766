-- $1 names, $2 addresses, $3 incarnations. No row for a name that is new. A drain mark ends with the life that it was set
-- in. Rows are locked in the order of names, so that gateways that see the same workers wait for each other and never in
-- a circle.
with seen as (
    select name, address, incarnation
    from unnest($1::text[], $2::text[], $3::text[]) as seen (name, address, incarnation)
), locked as (
    select workers.name from workers where name in (select name from seen) order by name for no key update
)
update workers
set address = seen.address, incarnation = seen.incarnation, last_seen_at = now(),
    is_draining = is_draining and workers.incarnation = seen.incarnation
from seen join locked using (name)
where workers.name = seen.name
returning workers.name, task, workers.address, workers.incarnation, is_draining, first_seen_at, last_seen_at
