-- $1 tenant, $2 id, $3 number, $4 bytes
insert into blob_pieces (tenant_id, id, number, bytes) values ($1, $2, $3, $4)
