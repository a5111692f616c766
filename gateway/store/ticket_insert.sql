-- $1 tenant, $2 hash, $3 path, $4 key id or null, $5 seconds, $6 tickets at most. Those that are over are removed. No row when there are
-- too many.
with gone as (
    delete from tickets where tenant_id = $1 and expires_at <= now()
)
insert into tickets (tenant_id, hash, path, key_id, expires_at)
select $1::uuid, $2::bytea, $3::text, $4::text, now() + $5::bigint * interval '1 second'
where $6::bigint > (select count(*) from tickets where tenant_id = $1 and expires_at > now())
returning expires_at
