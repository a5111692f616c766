-- Lets one transaction at a time give a worker its number.
select pg_advisory_xact_lock(hashtextextended('sluice.workers', 0)) is null
