select task, epoch, worker, incarnation, bound_at, coalesce(lost_worker, '')
from session_places
where tenant_id = $1 and session_id = $2
order by task
