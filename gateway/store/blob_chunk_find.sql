-- $1 tenant, $2 digest, $3 number, $4 begin (from 1), $5 size. The rest is not read, since the bytes are not compressed.
select substring(bytes from $4::integer for $5::integer) from blob_chunks where tenant_id = $1 and sha256 = $2 and number = $3
