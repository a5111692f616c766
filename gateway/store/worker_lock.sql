-- One worker at a time gets a number, until the transaction ends.
select pg_advisory_xact_lock(hashtextextended('sluice.workers', 0)) is null
