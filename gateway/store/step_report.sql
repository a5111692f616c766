-- One array a column: tenants, ids, sessions, graphs, starts in microseconds since 1970. Reports that were not renewed are removed.
with gone as (
    delete from running_steps
    where (tenant_id, id) in (
        select tenant_id, id
        from running_steps
        where seen_at < now() - interval '1 minute'
        limit 1000
        for update skip locked)
)
insert into running_steps (tenant_id, id, session_id, graph_id, started_at)
select tenant_id, id, session_id, graph_id, timestamptz 'epoch' + started_us * interval '1 microsecond'
from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::bigint[])
    as step (tenant_id, id, session_id, graph_id, started_us)
on conflict (tenant_id, id) do update set seen_at = now()
