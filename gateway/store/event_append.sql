-- $1 tenant, $2 kind, $3 subject or null, $4 data
with head as (
    insert into event_heads (tenant_id, sequence) values ($1, 1)
    on conflict (tenant_id) do update set sequence = event_heads.sequence + 1
    returning tenant_id, sequence
)
insert into events (tenant_id, sequence, kind, subject, data)
select tenant_id, sequence, $2::text, $3::uuid, $4::jsonb from head
returning sequence
