-- $1 tenant, then one array a column
insert into step_feeds (tenant_id, step_id, position, name, dtype, shape, sha256)
select $1::uuid, step_id, position, name, dtype, shape::bigint[], sha256
from unnest($2::uuid[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::bytea[])
    as tensor (step_id, position, name, dtype, shape, sha256)
