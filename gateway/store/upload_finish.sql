-- $1 tenant, $2 digest, $3 fence, $4 digest of the bytes. No row when the upload was ended meanwhile. Bytes that came another way first are kept,
-- and these are removed.
with ended as (
    delete from blob_uploads where tenant_id = $1 and sha256 = $2 and fence = $3 returning size, location
), kept as (
    insert into blobs (tenant_id, sha256, size, location)
    select $1, $4::bytea, size, location from ended
    on conflict (tenant_id, sha256) do update set used_at = now()
    returning xmax = 0 as is_new
), noted as (
    insert into blob_removals (tenant_id, location)
    select $1, ended.location from ended, kept where not kept.is_new
)
select is_new from kept
