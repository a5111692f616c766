-- Requeues or ends steps whose holder is gone. A synchronous step ends, since no client waits for it any more.
with late as (
    select tenant_id, id,
        case
            when is_cancel_requested then 'cancelled'
            when deadline_at <= now() then 'expired'
            when not is_async then 'failed'
            when attempts >= attempts_max then 'dead'
            else 'queued'
        end as next
    from steps
    where state in ('leased', 'running') and lease_until < now()
    limit 1000
    for no key update skip locked
)
update steps
set state = late.next,
    ended_at = case when late.next <> 'queued' then now() end,
    error_code = case late.next when 'cancelled' then 'CANCELLED' when 'expired' then 'DEADLINE_EXCEEDED'
        else 'UNAVAILABLE' end,
    error_message = case late.next when 'cancelled' then 'cancelled while it ran'
        when 'expired' then 'the deadline passed while it ran' else 'the gateway that ran it went away' end,
    run_after = now() + retry_pause(steps.attempts), lease_owner = null, lease_until = null
from late
where steps.tenant_id = late.tenant_id and steps.id = late.id
