-- $1 tenant, $2 milliseconds that a statement may take. Both hold until the transaction ends.
select set_config('app.tenant', coalesce($1::uuid::text, ''), true), set_config('statement_timeout', $2, true)
