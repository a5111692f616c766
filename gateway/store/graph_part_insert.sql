-- $1 tenant, $2 graph, $3 the graph that it extends. Copies that graph's parts.
insert into graph_parts (tenant_id, graph_id, version, source_sha256, media_type)
select $1::uuid, $2::uuid, version, source_sha256, media_type from graph_parts where tenant_id = $1 and graph_id = $3
union all
select $1::uuid, $2::uuid, version, source_sha256, media_type from graphs where tenant_id = $1 and id = $3
