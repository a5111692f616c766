-- $1 tenant, $2 digest, $3 number, $4 tag
insert into blob_upload_parts (tenant_id, sha256, number, tag) values ($1, $2, $3, $4)
on conflict (tenant_id, sha256, number) do update set tag = excluded.tag
