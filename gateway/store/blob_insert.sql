-- $1 tenant, $2 digest, $3 size. No row when the quota is used up; false when another was quicker.
insert into blobs (tenant_id, sha256, size)
select quota.tenant_id, $2::bytea, $3::bigint
from quotas as quota
left join usages as usage on usage.tenant_id = quota.tenant_id
where quota.tenant_id = $1 and coalesce(usage.stored_bytes, 0) + $3::bigint <= quota.stored_bytes_max
on conflict (tenant_id, sha256) do update set used_at = now()
returning xmax = 0
