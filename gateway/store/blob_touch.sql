-- $1 tenant, $2 digest. No row when the blob is not there.
update blobs set used_at = now() where tenant_id = $1 and sha256 = $2
