-- $1 tenant, $2 step, then one array a column
insert into step_feeds (tenant_id, step_id, position, name, dtype, shape, sha256)
select $1::uuid, $2::uuid, position - 1, name, dtype, shape::bigint[], sha256
from unnest($3::text[], $4::text[], $5::text[], $6::bytea[])
    with ordinality as tensor (name, dtype, shape, sha256, position)
