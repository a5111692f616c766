-- $1 tenant, $2 digest
select tag from blob_upload_parts where tenant_id = $1 and sha256 = $2 order by number
