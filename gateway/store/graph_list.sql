-- $1 tenant, $2 session, $3 last id of the page before or null, $4 limit
select id, session_id, parent_id, version, digest, media_type, source_sha256, summary::text, created_at
from graphs
where tenant_id = $1 and session_id = $2 and ($3::uuid is null or id < $3)
order by id desc
limit $4::bigint
