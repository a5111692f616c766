-- $1 tenant, $2 digest. The last column: a request writes it. The tail, which may have some MiB, is not read.
select size, location, state, received, digest_state, ''::bytea, length(tail)::bigint, fence, lease_until > now()
from blob_uploads
where tenant_id = $1 and sha256 = $2
