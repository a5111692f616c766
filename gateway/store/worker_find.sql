select name, task, address, incarnation, is_draining, first_seen_at, last_seen_at
from workers
where name = $1
