-- $1 tenant, $2 key, $3 digest, $4 owner, $5 milliseconds held. No row when the key is taken.
insert into idempotency_keys (tenant_id, key, request_sha256, owner, held_until)
values ($1, $2, $3, $4, now() + $5::bigint * interval '1 millisecond')
on conflict (tenant_id, key) do update
set request_sha256 = excluded.request_sha256, owner = excluded.owner, held_until = excluded.held_until,
    http_status = null, location = null, content_type = null, body = null, created_at = now(),
    expires_at = excluded.expires_at
where idempotency_keys.expires_at < now()
    or (idempotency_keys.http_status is null and idempotency_keys.held_until < now()
        and idempotency_keys.request_sha256 = excluded.request_sha256)
returning owner
