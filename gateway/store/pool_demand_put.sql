-- $1 owner, then one array a column: what the gateway has told now, in place of what it told last; $8 by how many gateways
-- it reckons its reserves
with reckoned as (
    update pool_gateways set peers = $8::bigint where owner = $1
), told as (
    insert into pool_demands (owner, tenant_id, held_slots, waiting_slots, running, waiting, lent)
    select $1, demand.*
    from unnest($2::uuid[], $3::double precision[], $4::double precision[], $5::bigint[], $6::bigint[], $7::bigint[])
        as demand (tenant_id, held_slots, waiting_slots, running, waiting, lent)
    on conflict (owner, tenant_id) do update
    set held_slots = excluded.held_slots, waiting_slots = excluded.waiting_slots, running = excluded.running,
        waiting = excluded.waiting, lent = excluded.lent
)
delete from pool_demands where owner = $1 and tenant_id <> all ($2::uuid[])
