-- $1 tenant, $2 id, $3 session, $4 parent or null, $5 digest, $6 media type, $7 source, $8 summary
-- No row when the graph is there already.
insert into graphs (tenant_id, id, session_id, parent_id, digest, media_type, source_sha256, summary)
values ($1, $2, $3, $4, $5, $6, $7, $8)
on conflict (tenant_id, session_id, source_sha256, media_type) do nothing
returning id, session_id, parent_id, digest, media_type, source_sha256, summary::text, created_at
