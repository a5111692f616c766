-- $1 owner, $2 tenants, $3 how many of each, $4 how many of every other, $5 how many in all, $6 lease in milliseconds
select tenant_id, id, session_id, graph_id, state, is_async, priority, request::text, attempts, fence, is_cancel_requested,
    created_at, started_at, ended_at, deadline_at, error_code, error_message, error_node, stats::text,
    coalesce(extract(epoch from deadline_at - now()) * 1000000, 0)::bigint,
    coalesce(extract(epoch from now() - started_at) * 1000000, 0)::bigint
from claim_steps($1::text, $2::uuid[], $3::bigint[], $4::bigint, $5::bigint, $6::bigint * interval '1 millisecond')
