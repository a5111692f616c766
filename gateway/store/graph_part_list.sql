-- $1 tenant, $2 graph
select source_sha256, media_type
from graph_parts
where tenant_id = $1 and graph_id = $2
order by version
