-- $1 tenant, $2 age in seconds, $3 limit
with ended as (
    delete from blob_uploads
    where tenant_id = $1 and sha256 in (
        select sha256
        from blob_uploads
        where tenant_id = $1 and used_at < now() - $2::bigint * interval '1 second' and lease_until <= now()
        limit $3::bigint
        for update skip locked)
    returning location
)
insert into blob_removals (tenant_id, location) select $1, location from ended
