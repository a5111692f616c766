-- The tenant of gateways without keys stores as much as a new one; it was made before 0012_stored_bytes.sql. Another value is
-- an operator's, and is kept.
set local role sluice_owner;
set local search_path = sluice;

select set_config('app.tenant', '00000000-0000-7000-8000-000000000001', true);
update quotas set stored_bytes_max = 274877906944 where stored_bytes_max = 10737418240;
select set_config('app.tenant', '', true);
reset role;
