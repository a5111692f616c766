-- Gateways remember keys for some seconds: they are told of one that is revoked or removed, and of a tenant that is
-- disabled, whoever does it.
set local role sluice_owner;
set local search_path = sluice;

create function tell_of_lost_key() returns trigger
language plpgsql set search_path = sluice, pg_temp as $$
begin
    perform pg_notify('sluice_gateways', 'revoked ' || old.id);
    return null;
end $$;
create trigger key_is_revoked after update of revoked_at on api_keys for each row
    when (old.revoked_at is null and new.revoked_at is not null) execute function tell_of_lost_key();
create trigger key_is_removed after delete on api_keys for each row execute function tell_of_lost_key();

create function tell_of_lost_tenant() returns trigger
language plpgsql set search_path = sluice, pg_temp as $$
begin
    perform pg_notify('sluice_gateways', 'doubt keys');
    return null;
end $$;
create trigger tenant_is_disabled after update of disabled_at on tenants for each row
    when (old.disabled_at is null and new.disabled_at is not null) execute function tell_of_lost_tenant();

reset role;
