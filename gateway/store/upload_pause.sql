-- $1 tenant, $2 digest, $3 fence, $4 received, $5 tail
update blob_uploads
set tail = $5, lease_until = now(), used_at = now()
where tenant_id = $1 and sha256 = $2 and fence = $3 and received = $4
