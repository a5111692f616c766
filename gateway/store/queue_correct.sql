-- $1 tenant, $2 steps, $3 device-nanoseconds used. Replaces the estimate that was charged at the claim.
update queues
set virtual_finish = virtual_finish + used.difference / quota.weight
from (
    select step.priority, sum(used.cost / 1e9::double precision - step.cost) as difference
    from unnest($2::uuid[], $3::bigint[]) as used (step_id, cost)
    cross join lateral (
        select priority, cost from steps where tenant_id = $1 and id = used.step_id and is_async limit 1
    ) as step
    group by step.priority
) as used, quotas as quota
where queues.tenant_id = $1 and queues.priority = used.priority and quota.tenant_id = $1
