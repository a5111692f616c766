-- $1 tenant, $2 digest, $3 size, $4 location, $5 lease in milliseconds. No row when the quota is used up, or another
-- request was first.
insert into blob_uploads (tenant_id, sha256, size, location, lease_until)
select quota.tenant_id, $2::bytea, $3::bigint, $4::text, now() + $5::bigint * interval '1 millisecond'
from quotas as quota
left join usages as usage on usage.tenant_id = quota.tenant_id
where quota.tenant_id = $1 and coalesce(usage.stored_bytes, 0) + $3::bigint <= quota.stored_bytes_max
on conflict do nothing
returning fence
