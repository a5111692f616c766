-- $1 the last id of the batch before, null for the first batch; $2 limit
select id from tenants where $1::uuid is null or id > $1 order by id limit $2::bigint
