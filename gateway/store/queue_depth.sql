select coalesce(sum(queued), 0)::bigint, coalesce(sum(running), 0)::bigint,
    (select min(created_at) from steps where tenant_id = $1 and state = 'queued')
from queues
where tenant_id = $1
