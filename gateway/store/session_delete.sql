-- $1 tenant, $2 id, $3 version, 0 for any
delete from sessions
where tenant_id = $1 and id = $2 and $3::bigint in (0, version)
