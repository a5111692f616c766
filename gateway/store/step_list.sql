-- $1 tenant, $2 session or null, $3 state or null, $4 last id of the page before or null, $5 limit
select tenant_id, id, session_id, graph_id, state, is_async, priority, request::text, attempts, fence, is_cancel_requested,
    created_at, started_at, ended_at, deadline_at, error_code, error_message, error_node, stats::text,
    coalesce(extract(epoch from deadline_at - now()) * 1000000, 0)::bigint
from step_records
where tenant_id = $1 and ($2::uuid is null or session_id = $2) and ($3::text is null or state = $3)
    and ($4::uuid is null or id < $4)
order by id desc
limit $5::bigint
