-- Records of steps are written by the thousand and read by the page. What an insert costs counts:
--   the primary key begins as readers ask (tenant, newest id), so that an index of its own for that goes;
--   what was asked for and what it took are kept as they came, for nothing here looks into them.
set local role sluice_owner;
set local search_path = sluice;
drop view step_records;
alter table step_history
    drop constraint step_history_pkey,
    alter column request type json,
    alter column stats type json,
    add primary key (tenant_id, id, created_at);
drop index step_history_tenant_id_id_idx;
create view step_records with (security_invoker = true) as
select tenant_id, id, session_id, graph_id, state, is_async, priority, request::json, attempts, fence,
    is_cancel_requested, created_at, started_at, ended_at, deadline_at, error_code, error_message, error_node,
    stats::json
from steps
union all
select tenant_id, id, session_id, graph_id, state, is_async, priority, request, attempts, 0::bigint, false,
    created_at, started_at, ended_at, null::timestamptz, error_code, error_message, error_node, stats
from step_history;
grant select on step_records to sluice_app, sluice_queue;
reset role;
