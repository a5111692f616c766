-- $1 text, the gateway's name.
select exists (
    select from pg_locks
    where locktype = 'advisory' and objsubid = 1 and classid = 1397511497::oid
        and database = (select oid from pg_database where datname = current_database())
        and objid::bigint <> (hashtext($1)::bigint & 4294967295))
