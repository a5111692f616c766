-- $1 tenant, $2 step, $3 to $5 and the columns as event_list.sql has them
select head.complete, case when horizon.transaction < head.complete then horizon.transaction else 0 end, event.*
from (select pg_snapshot_xmin(pg_current_snapshot())::text::bigint as complete) as head
cross join event_horizon as horizon
left join lateral (
    select tenant_id, session_id, step_id, transaction, number, kind, event_document(events)
    from events
    where tenant_id = $1 and step_id = $2
        and (transaction, number) > ($3::bigint, $4::bigint) and transaction < head.complete
    order by transaction, number
    limit $5::bigint
) as event on true
