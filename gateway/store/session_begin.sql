-- $1 the gateway, null for none. The first statement of a connection: settings for its whole life, and the rights of
-- its role.
select
    rolsuper or rolbypassrls or pg_has_role(current_user, 'sluice_owner', 'member'),
    current_user::text,
    concat(
        set_config('search_path', 'sluice', false),
        set_config('app.gateway', coalesce($1::text, ''), false),
        set_config('idle_in_transaction_session_timeout', '60000', false),
        set_config('lock_timeout', '10000', false))
from pg_roles
where rolname = current_user
