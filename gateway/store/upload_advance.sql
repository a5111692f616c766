-- $1 tenant, $2 digest, $3 fence, $4 received before, $5 received now, $6 digest state, $7 lease in milliseconds
update blob_uploads
set received = $5, digest_state = $6, tail = '', used_at = now(),
    lease_until = now() + $7::bigint * interval '1 millisecond'
where tenant_id = $1 and sha256 = $2 and fence = $3 and received = $4
