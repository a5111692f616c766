-- $1 owner
with held as (
    select tenant_id, id, case when is_cancel_requested then 'cancelled' else 'queued' end as next
    from steps
    where lease_owner = $1 and state in ('leased', 'running') and is_async
    for no key update
)
update steps
set state = held.next, attempts = attempts - 1, run_after = now(), lease_owner = null, lease_until = null,
    ended_at = case held.next when 'cancelled' then now() end,
    error_code = case held.next when 'cancelled' then 'CANCELLED' end,
    error_message = case held.next when 'cancelled' then 'cancelled while it ran' end
from held
where steps.tenant_id = held.tenant_id and steps.id = held.id
