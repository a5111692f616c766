-- $1 tenant, $2 digest, $3 number
select bytes from blob_chunks where tenant_id = $1 and sha256 = $2 and number = $3
