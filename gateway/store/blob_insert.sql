-- $1 tenant, $2 digests, $3 sizes. No row when the quota is used up; false when another transaction inserted it first.
insert into blobs (tenant_id, sha256, size)
select quota.tenant_id, blob.sha256, blob.size
from unnest($2::bytea[], $3::bigint[]) as blob (sha256, size)
join quotas as quota on quota.tenant_id = $1
left join usages as usage on usage.tenant_id = quota.tenant_id
where coalesce(usage.stored_bytes, 0) + (select sum(size) from unnest($3::bigint[]) as size)
    <= quota.stored_bytes_max
order by blob.sha256
on conflict (tenant_id, sha256) do update set used_at = now()
returning sha256, xmax = 0
