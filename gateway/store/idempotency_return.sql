-- $1 tenant, $2 key, $3 owner. False while the transaction that may still keep an answer to the key is under way.
with loose as (
    select tenant_id, key
    from idempotency_keys
    where tenant_id = $1 and key = $2 and owner = $3 and http_status is null
    for update skip locked
), gone as (
    delete from idempotency_keys as held
    using loose
    where held.tenant_id = loose.tenant_id and held.key = loose.key
    returning held.key
)
select exists (select from gone) or not exists (
    select from idempotency_keys where tenant_id = $1 and key = $2 and owner = $3 and http_status is null)
