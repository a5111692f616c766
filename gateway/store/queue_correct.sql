-- $1 tenant, $2 step, $3 device-seconds used. What was charged at the claim was an estimate.
update queues
set virtual_finish = virtual_finish + ($3::double precision - step.cost) / quota.weight
from steps as step
join quotas as quota on quota.tenant_id = step.tenant_id
where step.tenant_id = $1 and step.id = $2 and step.is_async
    and queues.tenant_id = step.tenant_id and queues.priority = step.priority
