-- $1 tenants, $2 transaction and $3 number of the last event that is known, $4 limit; the columns as event_list.sql has them
select head.complete, case when horizon.transaction < head.complete then horizon.transaction else 0 end, event.*
from (select pg_snapshot_xmin(pg_current_snapshot())::text::bigint as complete) as head
cross join event_horizon as horizon
left join lateral (
    select tenant_id, session_id, step_id, transaction, number, kind, event_document(events)
    from events
    where tenant_id = any ($1::uuid[])
        and (transaction, number) > ($2::bigint, $3::bigint) and transaction < head.complete
    order by transaction, number
    limit $4::bigint
) as event on true
