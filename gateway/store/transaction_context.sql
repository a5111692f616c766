-- $1 tenant, $2 milliseconds that a statement may take, both until the transaction ends; and the transaction's number, by
-- which others can ask what has become of it.
select set_config('app.tenant', coalesce($1::uuid::text, ''), true), set_config('statement_timeout', $2, true),
    pg_current_xact_id()::text
