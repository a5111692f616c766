delete from devices where task = $1
