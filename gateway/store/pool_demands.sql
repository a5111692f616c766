-- Lists what all gateways want, each with its number in the order of pool_gateways.sql.
select demand.tenant_id, gateway.number - 1, demand.held_slots, demand.waiting_slots, demand.running, demand.waiting,
    demand.lent
from pool_demands as demand
join (select owner, row_number() over (order by owner) as number from pool_gateways) as gateway
    on gateway.owner = demand.owner
