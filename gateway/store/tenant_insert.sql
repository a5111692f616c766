-- $1 id, $2 name
with tenant as (insert into tenants (id, name) values ($1, $2) returning id)
insert into quotas (tenant_id) select id from tenant
