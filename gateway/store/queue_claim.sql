-- $1 owner, $2 how many at most, $3 lease in milliseconds
select tenant_id, id, session_id, graph_id, state, is_async, priority, request::text, attempts, fence, is_cancel_requested,
    created_at, started_at, ended_at, deadline_at, error_code, error_message, error_node, stats::text
from claim_steps($1::text, $2::integer, $3::bigint * interval '1 millisecond')
