-- $1 tenant, $2 digest. A part that is on its way to the store arrives before its lease ends.
with ended as (
    delete from blob_uploads where tenant_id = $1 and sha256 = $2 returning location, lease_until
)
insert into blob_removals (tenant_id, location, due_at)
select $1, location, greatest(lease_until, now()) from ended
