-- $1 tenant, $2 digest. Where the bytes are: the blob that holds them, its location or null (chunks), the offset in it.
select size, sha256, location, 0::bigint
from blobs
where tenant_id = $1 and sha256 = $2
union all
select part.size, file.sha256, file.location, part.file_offset
from blob_ranges as part
join blobs as file on file.tenant_id = part.tenant_id and file.sha256 = part.file_sha256
where part.tenant_id = $1 and part.sha256 = $2
limit 1
