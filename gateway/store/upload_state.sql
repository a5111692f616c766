-- $1 tenant, $2 digest, $3 fence, $4 state
update blob_uploads set state = $4 where tenant_id = $1 and sha256 = $2 and fence = $3
