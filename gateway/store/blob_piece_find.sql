-- $1 tenant, $2 id, $3 number
select bytes from blob_pieces where tenant_id = $1 and id = $2 and number = $3
