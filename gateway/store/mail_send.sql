-- $1 text. Sent to all gateways when the transaction commits.
select pg_notify('sluice_gateways', $1) is null
