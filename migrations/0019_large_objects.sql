-- PostgreSQL's large objects are seen by no row security and belong to no tenant: whoever connects could keep bytes there. The
-- gateway uses none, so nobody but the database's owner may. Done by who migrates: the functions are PostgreSQL's.
do $$
declare
    large_object regprocedure;
begin
    for large_object in
        select oid::regprocedure
        from pg_proc
        where pronamespace = 'pg_catalog'::regnamespace
            and (proname like 'lo\_%' or proname in ('loread', 'lowrite'))
    loop
        execute format('revoke execute on function %s from public', large_object);
    end loop;
end $$;
