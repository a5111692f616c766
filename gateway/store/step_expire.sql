-- Ends steps that waited past their deadline.
with late as (
    select tenant_id, id
    from steps
    where state = 'queued' and deadline_at <= now()
    limit 1000
    for no key update skip locked
)
update steps
set state = 'expired', ended_at = now(), error_code = 'DEADLINE_EXCEEDED',
    error_message = 'the deadline passed before it ran'
from late
where steps.tenant_id = late.tenant_id and steps.id = late.id
