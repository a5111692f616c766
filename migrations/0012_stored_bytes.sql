-- A new tenant may store 256 GiB: models of 20 GiB are usual, and the largest blob may have 64 GiB (blob_bytes). Tenants
-- that exist keep what they have, which an operator may have chosen.
set local role sluice_owner;
set local search_path = sluice;

alter table quotas alter column stored_bytes_max set default 274877906944;
reset role;
