delete from workers where name = $1
