-- $1 name, $2 address, $3 incarnation. No row for a name that is new.
update workers
set address = $2, incarnation = $3, last_seen_at = now()
where name = $1
returning name, task, address, incarnation, is_draining, first_seen_at, last_seen_at
