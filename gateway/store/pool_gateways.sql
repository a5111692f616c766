-- $1 owner, $2 lease in milliseconds. One row a gateway, in the order that numbers them: whether it is the owner, and by how
-- many gateways it reckons its tenants' reserves. Of one from which nothing was heard for half its lease, or of the release
-- before, that is taken to be all: the pool does not wait for it.
select owner = $1, case when held_until > clock_timestamp() + $2::bigint * interval '0.5 milliseconds'
    then coalesce(peers, count(*) over ()) else count(*) over () end
from pool_gateways
order by owner
