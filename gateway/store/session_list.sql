-- $1 tenant, $2 last id of the page before or null, $3 limit
select id, name, options::text, version, created_at, updated_at
from sessions
where tenant_id = $1 and ($2::uuid is null or id < $2)
order by id desc
limit $3::bigint
