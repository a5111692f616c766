-- $1 tenant, $2 digest
select size from blobs where tenant_id = $1 and sha256 = $2
