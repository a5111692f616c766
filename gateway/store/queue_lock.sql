-- Before touching steps of several tenants, as claim_steps() does: nobody then waits in a circle.
select is_only from queue_clock for update
