-- Returns how many graphs the tenant may have, and has.
select graphs_max, (select count(*) from graphs where tenant_id = $1)
from quotas
where tenant_id = $1
