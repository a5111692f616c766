-- $1 tenant, $2 digests. Those that are there; they stay until this transaction ends. Renewed once a minute at
-- most: a renewal waits for whoever renewed it before to commit, and steps share their bytes.
with found as (
    select sha256, used_at from blobs where tenant_id = $1 and sha256 = any($2::bytea[]) for key share
), renewed as (
    update blobs set used_at = now()
    from found
    where blobs.tenant_id = $1 and blobs.sha256 = found.sha256 and found.used_at < now() - interval '1 minute'
)
select sha256 from found
