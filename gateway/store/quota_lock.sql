-- $1 tenant, $2 name of the quota. Until the transaction ends: the next statement counts what others have taken.
select pg_advisory_xact_lock(hashtextextended($2::text || $1::uuid::text, 0)) is null
