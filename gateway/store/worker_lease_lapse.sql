-- $1 names, $2 beats. A lease that was renewed meanwhile has more beats.
delete from worker_leases
using unnest($1::text[], $2::bigint[]) as lapsed (name, beats)
where worker_leases.name = lapsed.name and worker_leases.beats = lapsed.beats
