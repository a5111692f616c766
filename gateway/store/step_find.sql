-- $1 tenant, $2 id
select tenant_id, id, session_id, graph_id, state, is_async, priority, request::text, attempts, fence, is_cancel_requested,
    created_at, started_at, ended_at, deadline_at, error_code, error_message, error_node, stats::text,
    coalesce(extract(epoch from deadline_at - now()) * 1000000, 0)::bigint,
    coalesce(extract(epoch from now() - started_at) * 1000000, 0)::bigint
from step_records
where tenant_id = $1 and id = $2 and created_at = step_created_at($2)
