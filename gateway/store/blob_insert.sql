-- $1 tenant, $2 digests, $3 sizes. No row when the quota is used up; false when another transaction inserted it first.
-- The tenant's usage is locked first: of two that store at once the second sees the first one's bytes.
with usage as (
    insert into usages (tenant_id) values ($1)
    on conflict (tenant_id) do update set stored_bytes = usages.stored_bytes
    returning tenant_id, stored_bytes
)
insert into blobs (tenant_id, sha256, size)
select usage.tenant_id, blob.sha256, blob.size
from unnest($2::bytea[], $3::bigint[]) as blob (sha256, size), usage
join quotas as quota using (tenant_id)
where usage.stored_bytes + (select sum(size) from unnest($3::bigint[]) as size) <= quota.stored_bytes_max
order by blob.sha256
on conflict (tenant_id, sha256) do update set used_at = now()
returning sha256, xmax = 0
