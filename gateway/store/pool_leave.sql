-- $1 owner
with gone as (
    delete from pool_gateways where owner = $1
)
delete from pool_demands where owner = $1
