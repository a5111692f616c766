-- $1 owner, $2 lease in milliseconds. Gateways that were not heard of for so long are forgotten; so are those with more than
-- that left, since the database's clock has been set back: who lives enters again with its next round.
with gone as (
    delete from pool_gateways
    where owner <> $1 and (held_until < clock_timestamp()
        or held_until > clock_timestamp() + $2::bigint * interval '1 millisecond')
    returning owner
), forgotten as (
    delete from pool_demands using gone where pool_demands.owner = gone.owner
)
insert into pool_gateways (owner, held_until)
values ($1, clock_timestamp() + $2::bigint * interval '1 millisecond')
on conflict (owner) do update set held_until = excluded.held_until
