-- $1 tenant, $2 age in seconds, $3 limit. A concurrent put renews used_at first, which keeps its blob.
with gone as (
    delete from blobs
    where tenant_id = $1 and used_at < now() - $2::bigint * interval '1 second' and sha256 in (
        select blob.sha256
        from blobs as blob
        where blob.tenant_id = $1 and blob.used_at < now() - $2::bigint * interval '1 second'
            and not exists (select from graphs where tenant_id = $1 and source_sha256 = blob.sha256)
            and not exists (select from graph_parts where tenant_id = $1 and source_sha256 = blob.sha256)
            and not exists (select from graph_files where tenant_id = $1 and sha256 = blob.sha256)
            and not exists (select from step_feeds where tenant_id = $1 and sha256 = blob.sha256)
            and not exists (select from step_outputs where tenant_id = $1 and sha256 = blob.sha256)
        limit $3::bigint
        for update skip locked)
    returning location
), noted as (
    insert into blob_removals (tenant_id, location) select $1, location from gone where location is not null
)
select count(*) from gone
