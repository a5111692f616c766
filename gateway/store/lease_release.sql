update leases set held_until = '-infinity' where name = $1 and owner = $2
