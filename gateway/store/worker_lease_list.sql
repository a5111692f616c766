-- One row at least: without a lease, its name is null.
select epoch, clock_timestamp(), name, address, incarnation, lease_ms, beats, renewed_at
from membership left join worker_leases on true
order by name
limit 4096
