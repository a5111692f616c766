-- $1 tenant, $2 limit
select location from blob_removals where tenant_id = $1 and due_at <= now() order by due_at limit $2::bigint
