-- $1 tenant, $2 graph, $3 digests of files, $4 the graph that it extends, or null. That graph's files are this one's too.
insert into graph_files (tenant_id, graph_id, sha256)
select $1::uuid, $2::uuid, sha256
from (
    select unnest($3::bytea[]) as sha256
    union
    select sha256 from graph_files where tenant_id = $1 and graph_id = $4::uuid
) as file
order by sha256
on conflict do nothing
