-- $1 name, $2 incarnation. A later life keeps its lease.
delete from worker_leases where name = $1 and incarnation = $2
