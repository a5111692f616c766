-- $1 age in seconds. Workers that no gateway has seen for so long, with their drain marks.
delete from workers
where last_seen_at < now() - $1::bigint * interval '1 second'
