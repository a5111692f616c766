-- $1 tenant, $2 the sequence before the first wanted, $3 subject or null
select sequence, at, kind, subject, data::text
from events
where tenant_id = $1 and sequence > $2 and ($3::uuid is null or subject = $3)
order by sequence
limit 1000
