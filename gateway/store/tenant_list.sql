-- $1 name or null for all
select id, name, created_at, disabled_at is not null
from tenants
where $1::text is null or name = $1
order by name
limit 1000
