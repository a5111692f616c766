-- $1 virtual time and $2 service of the pool, $3 tenants, $4 their virtual times. A tenant without demands that is not
-- ahead of the pool has nothing to be remembered.
with settled as (
    update pool set virtual_time = $1::double precision, service = $2::double precision, settled_at = clock_timestamp()
), kept as (
    insert into pool_tenants (tenant_id, virtual_time)
    select * from unnest($3::uuid[], $4::double precision[]) as tenant (tenant_id, virtual_time)
    on conflict (tenant_id) do update set virtual_time = excluded.virtual_time
)
delete from pool_tenants
where tenant_id <> all ($3::uuid[])
