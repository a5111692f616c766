-- $1 tenant, $2 age in seconds, $3 limit
delete from step_outputs
where tenant_id = $1 and (step_id, position) in (
    select step_id, position
    from step_outputs
    where tenant_id = $1 and created_at < now() - $2::bigint * interval '1 second'
    limit $3::bigint)
