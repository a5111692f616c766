-- $1 tenant, $2 session or null for all
select distinct worker, incarnation
from session_places
where tenant_id = $1 and ($2::uuid is null or session_id = $2)
order by worker, incarnation
