-- $1 tenant, $2 digests. Of each that is stored, its size and the blob that holds its bytes: itself, or a file.
select distinct on (sha256) sha256, size, file_sha256
from (
    select sha256, size, sha256 as file_sha256 from blobs where tenant_id = $1 and sha256 = any($2::bytea[])
    union all
    select sha256, size, file_sha256 from blob_ranges where tenant_id = $1 and sha256 = any($2::bytea[])
) as holder
order by sha256, file_sha256
