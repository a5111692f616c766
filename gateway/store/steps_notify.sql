-- Wakes the gateways that claim and run steps, when the transaction commits. A hint: polling finds the same.
select pg_notify('sluice_steps', '') is null
