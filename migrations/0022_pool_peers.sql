-- usable from 19
-- A gateway goes by the number of gateways that it knew of in its last round: until the next one, what its tenants may run
-- there is not given to a gateway that has joined since.
set local role sluice_owner;
set local search_path = sluice;

alter table pool_gateways add column peers bigint; -- null: told by nobody yet, or of the release before
reset role;
