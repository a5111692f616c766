-- $1 tenant, $2 digests, $3 numbers, $4 bytes
insert into blob_chunks (tenant_id, sha256, number, bytes)
select $1::uuid, sha256, number, bytes
from unnest($2::bytea[], $3::bigint[], $4::bytea[]) as chunk (sha256, number, bytes)
