-- $1 tenant, $2 location, $3 what went wrong. Tried again after 1, 2, 4, … minutes, at most a day.
update blob_removals
set attempts = attempts + 1, last_error = $3,
    due_at = now() + least(interval '1 day', interval '1 minute' * power(2, least(attempts, 20)))
where tenant_id = $1 and location = $2
