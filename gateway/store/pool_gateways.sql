-- $1 owner. One row a gateway, in the order that numbers them.
select owner = $1 from pool_gateways order by owner
