-- Returns whether the tenant has more steps in the queue than its quota.
select coalesce(sum(queues.queued), 0) > quotas.queued_steps_max
from quotas
left join queues on queues.tenant_id = quotas.tenant_id
where quotas.tenant_id = $1
group by quotas.queued_steps_max
