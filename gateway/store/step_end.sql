-- $1 tenant, then one array a column: $2 ids, $3 fences, $4 states, $5 error codes, $6 messages, $7 nodes, $8 stats.
-- Steps are found one by one (lateral, limit), whatever the planner estimates, and locked in the order of the ids.
with ending as (
    select ended.*
    from (
        select *
        from unnest($2::uuid[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[])
            as ended (id, fence, state, error_code, error_message, error_node, stats)
        order by id
    ) as ended
    cross join lateral (
        select
        from steps
        where steps.tenant_id = $1 and steps.id = ended.id and steps.fence = ended.fence
            and steps.state in ('leased', 'running')
        limit 1
        for no key update
    ) as found
)
update steps
set state = ending.state, ended_at = now(), lease_owner = null, lease_until = null,
    error_code = ending.error_code, error_message = ending.error_message, error_node = ending.error_node,
    stats = coalesce(ending.stats::jsonb, '{}')
from ending
where steps.tenant_id = $1 and steps.id = ending.id
