-- $1 tenant, $2 id, $3 name, $4 options, of which null members are absent; no row when the quota is used up
insert into sessions (tenant_id, id, name, options)
select quota.tenant_id, $2::uuid, $3::text, jsonb_strip_nulls($4::jsonb)
from quotas as quota
where quota.tenant_id = $1
    and quota.sessions_max > (select count(*) from sessions where tenant_id = $1)
returning id, name, options::text, version, created_at, updated_at
