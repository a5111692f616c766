-- Wakes who claims and who runs, when the transaction commits. A hint: polling finds the same.
select pg_notify('sluice_steps', '') is null
