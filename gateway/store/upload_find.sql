-- $1 tenant, $2 digest. The last column: a request writes it.
select size, location, state, received, digest_state, tail, fence, lease_until > now()
from blob_uploads
where tenant_id = $1 and sha256 = $2
