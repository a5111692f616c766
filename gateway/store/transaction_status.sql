-- $1 a transaction's number. 'committed', 'aborted' or 'in progress'; null when it is too long ago.
select pg_xact_status($1::text::xid8)
