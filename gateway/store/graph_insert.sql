-- $1 tenant, $2 id, $3 session, $4 parent or null, $5 version, $6 digest, $7 media type, $8 source, $9 summary
-- The newest graph is the one inserted last, not the one whose transaction began last.
-- No row when the graph is there already, or its parent has been extended by another one.
insert into graphs (
    tenant_id, id, session_id, parent_id, version, digest, media_type, source_sha256, summary, created_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, clock_timestamp())
on conflict do nothing
returning id, session_id, parent_id, version, digest, media_type, source_sha256, summary::text, created_at
