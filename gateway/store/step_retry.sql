-- $1 tenant, $2 id, $3 fence, $4 whether the attempt counts, $5 error code, $6 message, $7 node. A step
-- that was to be cancelled while it was held is cancelled here, since no holder would do so in the queue.
with held as (
    select tenant_id, id,
        case
            when is_cancel_requested then 'cancelled'
            when $4 and attempts >= attempts_max then 'dead'
            else 'queued'
        end as next
    from steps
    where tenant_id = $1 and id = $2 and fence = $3 and state in ('leased', 'running') and is_async
    for no key update
)
update steps
set state = held.next,
    ended_at = case when held.next <> 'queued' then now() end,
    attempts = attempts - (not $4)::integer,
    run_after = case when $4 then now() + retry_pause(attempts) else now() end,
    lease_owner = null, lease_until = null,
    error_code = case held.next when 'cancelled' then 'CANCELLED' else $5 end,
    error_message = case when held.next <> 'cancelled' then $6 when $4 then 'cancelled while it ran'
        else 'cancelled before it ran' end,
    error_node = case when held.next <> 'cancelled' then $7 end
from held
where steps.tenant_id = held.tenant_id and steps.id = held.id
returning state
