-- $1 tenants, $2 ids, $3 fences, $4 lease in milliseconds. One row each, in the order asked. Steps are found
-- and locked as step_end does.
with held as (
    select * from unnest($1::uuid[], $2::uuid[], $3::bigint[]) with ordinality as held (tenant_id, id, fence, number)
), found as (
    select held.*
    from (select * from held order by id) as held
    cross join lateral (
        select
        from steps
        where steps.tenant_id = held.tenant_id and steps.id = held.id and steps.fence = held.fence
            and steps.state in ('leased', 'running')
        limit 1
        for no key update
    ) as step
), beat as (
    update steps
    set lease_until = clock_timestamp() + $4::bigint * interval '1 millisecond'
    from found
    where steps.tenant_id = found.tenant_id and steps.id = found.id
    returning found.number, steps.is_cancel_requested
)
select beat.number is not null, coalesce(beat.is_cancel_requested, false)
from held
left join beat on beat.number = held.number
order by held.number
