-- $1 name, $2 address, $3 incarnation. Runs under worker_lock. The task is the lowest that is free.
insert into workers (name, task, address, incarnation)
select $1, min(task), $2, $3
from generate_series(0, (select count(*) from workers)) as task
where not exists (select from workers where workers.task = task.task)
on conflict (name) do update
set address = excluded.address, incarnation = excluded.incarnation, last_seen_at = now()
returning name, task, address, incarnation, is_draining, first_seen_at, last_seen_at
