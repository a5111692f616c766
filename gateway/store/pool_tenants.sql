-- $1 tenants that are reported
select quota.tenant_id, quota.weight, quota.running_steps_max, coalesce(tenant.virtual_time, 0)
from (
    select unnest($1::uuid[]) as id
    union
    select tenant_id from pool_tenants
    union
    select tenant_id from pool_demands
) as wanted
join quotas as quota on quota.tenant_id = wanted.id
left join pool_tenants as tenant on tenant.tenant_id = wanted.id
