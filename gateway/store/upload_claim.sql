-- $1 tenant, $2 digest, $3 lease in milliseconds. No row when there is no upload, or another request writes it.
update blob_uploads
set fence = fence + 1, lease_until = now() + $3::bigint * interval '1 millisecond', used_at = now()
where tenant_id = $1 and sha256 = $2 and lease_until <= now()
returning size, location, state, received, digest_state, tail, length(tail)::bigint, fence, false
