-- $1 tenant, $2 digest. No row when there is no such blob; false when something refers to it.
with found as (
    select sha256,
        exists (select from graphs where tenant_id = $1 and source_sha256 = $2)
            or exists (select from graph_parts where tenant_id = $1 and source_sha256 = $2)
            or exists (select from graph_files where tenant_id = $1 and sha256 = $2)
            or exists (select from step_feeds where tenant_id = $1 and sha256 = $2)
            or exists (select from step_outputs where tenant_id = $1 and sha256 = $2) as is_used
    from blobs
    where tenant_id = $1 and sha256 = $2
), gone as (
    delete from blobs using found
    where blobs.tenant_id = $1 and blobs.sha256 = $2 and not found.is_used
    returning location
), noted as (
    insert into blob_removals (tenant_id, location) select $1, location from gone where location is not null
)
select not is_used from found
