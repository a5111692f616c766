-- Locks out claims before steps of several tenants are changed, as claim_steps() does, so that no deadlock arises.
select is_only from queue_clock for update
