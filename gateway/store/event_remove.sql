-- $1 age in milliseconds, $2 limit
with gone as (
    delete from events
    where (tenant_id, transaction, number) in (
        select tenant_id, transaction, number
        from events
        where at < now() - $1::bigint * interval '1 millisecond'
        order by at
        limit $2::bigint)
    returning transaction
), counted as (
    select count(*) as count, max(transaction) as transaction from gone
), marked as (
    update event_horizon set transaction = counted.transaction
    from counted
    where event_horizon.transaction < counted.transaction
)
select count from counted
