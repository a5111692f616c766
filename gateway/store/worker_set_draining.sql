update workers set is_draining = $2 where name = $1
