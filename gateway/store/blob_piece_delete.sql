-- $1 tenant, $2 id, $3 limit
delete from blob_pieces
where tenant_id = $1 and id = $2 and number in (
    select number from blob_pieces where tenant_id = $1 and id = $2 order by number limit $3::bigint)
