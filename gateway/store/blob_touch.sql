-- $1 tenant, $2 digests. Returns the blobs that are stored, and keeps them until this transaction ends. A blob is
-- renewed once a minute at most: renewals of one blob wait for each other's commit, and steps share blobs.
with found as (
    select sha256, used_at from blobs where tenant_id = $1 and sha256 = any($2::bytea[]) for key share
), renewed as (
    update blobs set used_at = now()
    from found
    where blobs.tenant_id = $1 and blobs.sha256 = found.sha256 and found.used_at < now() - interval '1 minute'
)
select sha256 from found
