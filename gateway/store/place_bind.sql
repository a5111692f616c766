-- $1 tenant, $2 session, $3 task, $4 worker, $5 incarnation. A binding gives the session a new version.
with bound as (
    insert into session_places (tenant_id, session_id, task, worker, incarnation)
    values ($1, $2, $3, $4, $5)
    on conflict do nothing
    returning 1
)
update sessions set version = version + 1
where tenant_id = $1 and id = $2 and exists (select from bound)
