-- $1 tenant, then one array a column: $2 ids, $3 sessions, $4 graphs, $5 priorities, $6 requests,
-- $7 attempts at most, $8 timeouts in milliseconds. $9 owner: null queues the steps, else they begin as running. No row
-- for a step without its session.
insert into steps (tenant_id, id, session_id, graph_id, state, is_async, priority, request, attempts,
    attempts_max, fence, lease_owner, lease_until, deadline_at, created_at, started_at)
select session.tenant_id, step.id, session.id, step.graph_id,
    case when $9::text is null then 'queued' else 'running' end, $9::text is null, step.priority::smallint,
    step.request::jsonb, ($9::text is not null)::integer,
    step.attempts_max::integer, ($9::text is not null)::integer, $9::text,
    case when $9::text is not null then now() + interval '30 seconds' end,
    now() + step.timeout_ms * interval '1 millisecond', step_created_at(step.id),
    case when $9::text is not null then now() end
from unnest($2::uuid[], $3::uuid[], $4::uuid[], $5::bigint[], $6::text[], $7::bigint[],
    $8::bigint[]) as step (id, session_id, graph_id, priority, request, attempts_max, timeout_ms)
join sessions as session on session.tenant_id = $1 and session.id = step.session_id
for key share of session
