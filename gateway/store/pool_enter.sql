-- $1 owner, $2 lease in milliseconds. Gateways that were not heard of for so long are forgotten.
with gone as (
    delete from pool_gateways where held_until < clock_timestamp() and owner <> $1 returning owner
), forgotten as (
    delete from pool_demands using gone where pool_demands.owner = gone.owner
)
insert into pool_gateways (owner, held_until)
values ($1, clock_timestamp() + $2::bigint * interval '1 millisecond')
on conflict (owner) do update set held_until = excluded.held_until
