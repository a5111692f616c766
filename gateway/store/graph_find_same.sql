-- $1 tenant, $2 session, $3 digest, $4 media type
select id, session_id, parent_id, version, digest, media_type, source_sha256, summary::text, created_at
from graphs
where tenant_id = $1 and session_id = $2 and digest = $3 and media_type = $4
