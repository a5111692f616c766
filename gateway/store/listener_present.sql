-- $1 text, the gateway's name. The lock goes with its connection, so that the locks are the gateways that listen; the
-- upper half of their keys is the same.
select pg_advisory_lock_shared((1397511497::bigint << 32) | (hashtext($1)::bigint & 4294967295)) is null
