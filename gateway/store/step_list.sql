-- $1 tenant, $2 session or null, $3 state or null, $4 last id of the page before or null, $5 limit. Synchronous steps that run are
-- those that their gateways have reported a moment ago (0018_running_steps.sql) and whose end is not known.
select tenant_id, id, session_id, graph_id, state, is_async, priority, request::text, attempts, fence, is_cancel_requested,
    created_at, started_at, ended_at, deadline_at, error_code, error_message, error_node, stats::text,
    coalesce(extract(epoch from deadline_at - now()) * 1000000, 0)::bigint,
    coalesce(extract(epoch from now() - started_at) * 1000000, 0)::bigint
from (
    select * from step_records
    union all
    select tenant_id, id, session_id, graph_id, 'running', false, 1, '{}'::json, 1, 0, false, step_created_at(id),
        started_at, null, null, null, null, null, '{}'::json
    from running_steps as running
    where seen_at > now() - interval '5 seconds' and not exists (
        select from step_records as known
        where known.tenant_id = running.tenant_id and known.id = running.id
            and known.created_at = step_created_at(running.id))
) as steps
where tenant_id = $1 and ($2::uuid is null or session_id = $2) and ($3::text is null or state = $3)
    and ($4::uuid is null or id < $4)
order by id desc
limit $5::bigint
