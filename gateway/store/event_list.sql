-- $1 tenant, $2 session or null, $3 transaction and $4 number of the last event that is known, $5 limit. One row at least:
-- its first two columns are the transaction that events are complete before, and the newest one of which some are gone. Events
-- may go before they are complete, behind a transaction that runs for longer than they are kept: readers miss them when they
-- come to them, not earlier. A dump's horizon may lie far ahead of a new cluster's transactions.
select head.complete, case when horizon.transaction < head.complete then horizon.transaction else 0 end, event.*
from (select pg_snapshot_xmin(pg_current_snapshot())::text::bigint as complete) as head
cross join event_horizon as horizon
left join lateral (
    select tenant_id, session_id, step_id, transaction, number, kind, event_document(events)
    from events
    where tenant_id = $1 and ($2::uuid is null or session_id = $2)
        and (transaction, number) > ($3::bigint, $4::bigint) and transaction < head.complete
    order by transaction, number
    limit $5::bigint
) as event on true
