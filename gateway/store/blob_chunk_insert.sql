-- $1 tenant, $2 digest, $3 number, $4 bytes
insert into blob_chunks (tenant_id, sha256, number, bytes) values ($1, $2, $3, $4)
