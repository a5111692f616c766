-- $1 tenants, $2 ids, $3 fences, $4 lease in milliseconds. One row each, in the order asked.
with held as (
    select * from unnest($1::uuid[], $2::uuid[], $3::bigint[]) with ordinality as held (tenant_id, id, fence, number)
), beat as (
    update steps
    set lease_until = clock_timestamp() + $4::bigint * interval '1 millisecond'
    from held
    where steps.tenant_id = held.tenant_id and steps.id = held.id and steps.fence = held.fence
        and steps.state in ('leased', 'running')
    returning held.number, steps.is_cancel_requested
)
select beat.number is not null, coalesce(beat.is_cancel_requested, false)
from held
left join beat on beat.number = held.number
order by held.number
