-- $1 names, $2 addresses, $3 incarnations. Runs under worker_lock. Each new name gets the lowest task that is free.
with seen as (
    select distinct on (name) name, address, incarnation, place
    from unnest($1::text[], $2::text[], $3::text[]) with ordinality as seen (name, address, incarnation, place)
    where not exists (select from workers where workers.name = seen.name)
    order by name, place
), new as (
    select name, address, incarnation, row_number() over (order by place) as rank from seen
), free as (
    select task, row_number() over (order by task) as rank
    from generate_series(0, (select count(*) from workers) + (select count(*) from new)) as task
    where not exists (select from workers where workers.task = task.task)
)
insert into workers (name, task, address, incarnation)
select name, task, address, incarnation from new join free using (rank)
