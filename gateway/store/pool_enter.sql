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
insert into pool_gateways as gateway (owner, held_until, judges_from)
select $1, entered.until, entered.until
from (select clock_timestamp() + $2::bigint * interval '1 millisecond' as until) as entered
on conflict (owner) do update
set held_until = excluded.held_until,
    judges_from = case when gateway.held_until < clock_timestamp() then excluded.judges_from
        else least(gateway.judges_from, excluded.judges_from) end
