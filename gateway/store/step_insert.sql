-- $1 tenant, $2 id, $3 session, $4 graph, $5 priority, $6 cost, $7 request, $8 attempts at most, $9 timeout in
-- milliseconds, $10 owner: null queues, else it begins as running. No row without the session.
insert into steps (tenant_id, id, session_id, graph_id, state, is_async, priority, cost, request, attempts,
    attempts_max, fence, lease_owner, lease_until, deadline_at, created_at, started_at)
select session.tenant_id, $2::uuid, session.id, $4::uuid,
    case when $10::text is null then 'queued' else 'running' end, $10::text is null, $5::smallint,
    $6::double precision, $7::jsonb, ($10::text is not null)::integer, $8::integer,
    ($10::text is not null)::integer, $10::text,
    case when $10::text is not null then now() + interval '30 seconds' end,
    now() + $9::bigint * interval '1 millisecond', step_created_at($2),
    case when $10::text is not null then now() end
from sessions as session
where session.tenant_id = $1 and session.id = $3
for key share
