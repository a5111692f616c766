select name, task, address, incarnation, is_draining, first_seen_at, last_seen_at
from workers
order by task
limit 10000
