-- $1 tenant, $2 key, $3 digest, $4 owner, $5 milliseconds held, $6 run, or null. No row when the key is taken. A key without
-- an answer may be taken over from a gateway that is gone; it goes on to stand for the same run. A gateway without a place
-- in the pool, as in its first moments, cannot be seen to go, so its keys name no holder.
insert into idempotency_keys (tenant_id, key, request_sha256, owner, held_until, holder, run_id)
values ($1, $2, $3, $4, now() + $5::bigint * interval '1 millisecond',
    (select place.owner from pool_gateways as place where place.owner = current_setting('app.gateway', true)), $6)
on conflict (tenant_id, key) do update
set request_sha256 = excluded.request_sha256, owner = excluded.owner, held_until = excluded.held_until,
    holder = excluded.holder, http_status = null, location = null, content_type = null, body = null,
    created_at = now(), expires_at = excluded.expires_at,
    run_id = case when idempotency_keys.expires_at < now() then excluded.run_id
        else coalesce(idempotency_keys.run_id, excluded.run_id) end,
    run_holds = case when idempotency_keys.expires_at < now() then 1 else idempotency_keys.run_holds + 1 end,
    run_begun_at = case when idempotency_keys.expires_at < now() or idempotency_keys.run_id is null then now()
        else idempotency_keys.run_begun_at end
where idempotency_keys.expires_at < now()
    or (idempotency_keys.http_status is null and idempotency_keys.request_sha256 = excluded.request_sha256
        and (idempotency_keys.held_until < now()
            or (idempotency_keys.holder is not null
                and not exists (
                    select from pool_gateways as first
                    where first.owner = idempotency_keys.holder and first.held_until > clock_timestamp())
                and exists (
                    select from pool_gateways as second
                    where second.owner = excluded.holder and second.held_until > clock_timestamp()
                        and second.judges_from < clock_timestamp()))))
returning coalesce(run_id, '00000000-0000-0000-0000-000000000000'), run_holds,
    (extract(epoch from clock_timestamp() - run_begun_at) * 1000000)::bigint
