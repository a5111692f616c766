-- $1 tenant, $2 digests, $3 files, $4 offsets, $5 sizes
insert into blob_ranges (tenant_id, sha256, file_sha256, file_offset, size)
select $1::uuid, sha256, file_sha256, file_offset, size
from unnest($2::bytea[], $3::bytea[], $4::bigint[], $5::bigint[])
    as part (sha256, file_sha256, file_offset, size)
order by sha256, file_sha256
on conflict do nothing
