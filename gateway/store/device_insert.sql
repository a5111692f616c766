-- $1 task, $2 name, $3 type, $4 memory in bytes, $5 attributes
insert into devices (task, name, type, memory_bytes, attributes) values ($1, $2, $3, $4, $5)
