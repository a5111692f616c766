-- $1 name, $2 incarnation. The mark ends with this life, as one that an operator sets.
update workers set is_draining = true where name = $1 and incarnation = $2 and not is_draining
