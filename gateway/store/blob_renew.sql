-- $1 tenant, $2 digest. Keeps the blob from being collected for now; renewed once a minute at most.
with found as (
    select size, used_at from blobs where tenant_id = $1 and sha256 = $2
), renewed as (
    update blobs set used_at = now()
    from found
    where tenant_id = $1 and sha256 = $2 and found.used_at < now() - interval '1 minute'
)
select size from found
