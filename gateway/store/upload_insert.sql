-- $1 tenant, $2 digest, $3 size, $4 location, $5 lease in milliseconds. No row when the quota is used up, or another
-- request was first. The tenant's usage is locked first: of two uploads at once the second sees the first one's bytes.
with usage as (
    insert into usages (tenant_id) values ($1)
    on conflict (tenant_id) do update set stored_bytes = usages.stored_bytes
    returning stored_bytes
)
insert into blob_uploads (tenant_id, sha256, size, location, lease_until)
select quota.tenant_id, $2::bytea, $3::bigint, $4::text, now() + $5::bigint * interval '1 millisecond'
from quotas as quota, usage
where quota.tenant_id = $1 and usage.stored_bytes + $3::bigint <= quota.stored_bytes_max
on conflict do nothing
returning fence
