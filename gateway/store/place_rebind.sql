-- $1 tenant, $2 session, $3 task, $4 worker, $5 incarnation, $6 the epoch that ends. Another epoch
-- than that stays bound.
with bound as (
    update session_places
    set epoch = epoch + 1, worker = $4, incarnation = $5, bound_at = now(), lost_worker = worker
    where tenant_id = $1 and session_id = $2 and task = $3 and epoch = $6
    returning 1
)
update sessions set version = version + 1
where tenant_id = $1 and id = $2 and exists (select from bound)
