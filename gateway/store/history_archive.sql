-- $1 age in seconds, $2 limit
with chosen as (
    select tenant_id, id
    from steps
    where ended_at < now() - $1::bigint * interval '1 second'
        and (state <> 'dead' or ended_at < now() - interval '1 day')
    order by ended_at
    limit $2::bigint
    for update skip locked
), moved as (
    delete from steps
    using chosen
    where steps.tenant_id = chosen.tenant_id and steps.id = chosen.id
    returning steps.*
)
insert into step_history (tenant_id, id, session_id, graph_id, state, is_async, priority, request, attempts,
    created_at, started_at, ended_at, error_code, error_message, error_node, stats)
select tenant_id, id, session_id, graph_id, state, is_async, priority, request, attempts, created_at,
    started_at, ended_at, error_code, error_message, error_node, stats
from moved
on conflict do nothing
