-- $1 tenant, $2 location
delete from blob_removals where tenant_id = $1 and location = $2
