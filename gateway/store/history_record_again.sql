-- Does what history_record does, for a batch that may have been written already: records that exist are skipped. The steps' ends are
-- told of in the same transaction (0017_events.sql).
with recorded as (
    insert into step_history (tenant_id, id, session_id, graph_id, state, is_async, priority, request, attempts,
        created_at, started_at, ended_at, error_code, error_message, error_node, stats)
    select tenant_id, id, session_id, graph_id, state, false, 1, request::json, attempts, step_created_at(id),
        timestamptz 'epoch' + nullif(started_us, 0) * interval '1 microsecond',
        timestamptz 'epoch' + ended_us * interval '1 microsecond',
        nullif(error_code, ''), nullif(error_message, ''), nullif(error_node, ''), coalesce(stats, '{}')::json
    from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::bigint[], $8::bigint[],
        $9::bigint[], $10::text[], $11::text[], $12::text[], $13::text[])
        as step (tenant_id, id, session_id, graph_id, state, request, attempts, started_us, ended_us, error_code,
            error_message, error_node, stats)
    on conflict do nothing
    returning tenant_id, session_id, id, state, attempts, error_code, error_message, error_node
)
insert into events (tenant_id, session_id, step_id, kind, data)
select tenant_id, session_id, id, 'step.' || state,
    step_event_data(state, attempts, error_code, error_message, error_node)
from recorded
