select name, dtype, shape, sha256 from step_feeds where tenant_id = $1 and step_id = $2 order by position
