-- Events: what happened to a tenant's sessions, graphs and steps, written by triggers in the transaction of what they
-- tell, whoever makes the change. The tables that stood here had no writer.
--
-- Transactions commit in another order than they begin in, so an event's place is its transaction and a number within
-- it. Who reads only events of transactions before the oldest one that still runs (pg_snapshot_xmin) never has one come
-- in behind what was read. No writer waits for another one for that.
set local role sluice_owner;
set local search_path = sluice;

drop table events, event_heads;

create table events (
    tenant_id uuid not null,
    transaction bigint not null default pg_current_xact_id()::text::bigint,
    number bigint not null generated always as identity,
    at timestamptz not null default clock_timestamp(),
    session_id uuid not null,
    step_id uuid,
    kind text not null,
    data jsonb not null,
    primary key (tenant_id, transaction, number)
);
create index events_of_step on events (tenant_id, step_id) where step_id is not null;
create index events_age on events (at);
call protect('events');
call open_to_queue('events');
grant select, insert on events to sluice_app, sluice_queue;
grant delete on events to sluice_queue;

-- The newest transaction of which events have been removed: who has read no further may have missed some.
create table event_horizon (
    is_only boolean primary key default true check (is_only),
    transaction bigint not null
);
insert into event_horizon (transaction) values (0);
grant select on event_horizon to sluice_app, sluice_queue;
grant update on event_horizon to sluice_queue;

create function id_text(prefix text, id uuid) returns text
language sql immutable strict parallel safe
return prefix || replace(id::text, '-', '');

-- What a step's event tells of it, as getStep names it.
create function step_event_data(state text, attempts bigint, error_code text, error_message text, error_node text)
returns jsonb language sql immutable parallel safe
return jsonb_strip_nulls(jsonb_build_object('state', state, 'attempts', attempts,
    'error', case when error_code <> '' then
        jsonb_build_object('code', error_code, 'message', error_message, 'node', nullif(error_node, '')) end));

-- An event as clients get it.
create function event_document(event events) returns text
language sql stable parallel safe
return (jsonb_strip_nulls(jsonb_build_object(
    'at', to_char(event.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
    'session', id_text('ses_', event.session_id), 'step', id_text('stp_', event.step_id))) || event.data)::text;
grant execute on function id_text, step_event_data, event_document to sluice_app, sluice_queue;

create function tell_of_new_steps() returns trigger
language plpgsql set search_path = sluice, pg_temp as $$
begin
    insert into events (tenant_id, session_id, step_id, kind, data)
    select tenant_id, session_id, id, 'step.' || state, step_event_data(state, attempts, null, null, null)
    from changed
    order by id;
    return null;
end $$;
create trigger steps_are_told_of_first after insert on steps
    referencing new table as changed for each statement execute function tell_of_new_steps();

create function tell_of_step() returns trigger
language plpgsql set search_path = sluice, pg_temp as $$
begin
    insert into events (tenant_id, session_id, step_id, kind, data)
    values (new.tenant_id, new.session_id, new.id, 'step.' || new.state,
        step_event_data(new.state, new.attempts, new.error_code, new.error_message, new.error_node));
    return null;
end $$;
create trigger step_is_told_of after update of state on steps for each row
    when (old.state is distinct from new.state and new.state <> 'leased') execute function tell_of_step();

create function tell_of_session() returns trigger
language plpgsql set search_path = sluice, pg_temp as $$
declare
    session sessions := coalesce(new, old);
begin
    insert into events (tenant_id, session_id, kind, data)
    values (session.tenant_id, session.id, tg_argv[0],
        jsonb_build_object('name', session.name, 'version', session.version));
    return null;
end $$;
create trigger session_is_told_of_first after insert on sessions for each row
    execute function tell_of_session('session.created');
create trigger session_is_told_of after update on sessions for each row
    when (old.version is distinct from new.version) execute function tell_of_session('session.updated');
create trigger session_is_told_of_last after delete on sessions for each row
    execute function tell_of_session('session.deleted');

create function tell_of_graph() returns trigger
language plpgsql set search_path = sluice, pg_temp as $$
declare
    graph graphs := coalesce(new, old);
begin
    insert into events (tenant_id, session_id, kind, data)
    values (graph.tenant_id, graph.session_id, tg_argv[0], jsonb_build_object('graph', id_text('grf_', graph.id)));
    return null;
end $$;
create trigger graph_is_told_of_first after insert on graphs for each row
    execute function tell_of_graph('graph.created');
create trigger graph_is_told_of_last after delete on graphs for each row
    execute function tell_of_graph('graph.deleted');

-- Tickets open one path for a minute to who cannot send a key with it: a browser's EventSource. Only their hashes are
-- kept. A ticket is worth what the key is that it was made with.
create table tickets (
    tenant_id uuid not null references tenants on delete cascade,
    hash bytea not null unique check (length(hash) = 32),
    path text not null,
    key_id text,
    expires_at timestamptz not null,
    primary key (tenant_id, hash)
);
create index on tickets (tenant_id, expires_at);
call protect('tickets');
create policy find_by_hash on tickets for select to sluice_owner using (true);
grant select, insert, delete on tickets to sluice_app;

create function find_ticket(ticket_hash bytea)
returns table (tenant_id uuid, tenant_name text, path text, key_id text, requests_per_second bigint)
language sql stable security definer set search_path = pg_catalog, pg_temp
begin atomic
    select ticket.tenant_id, tenant.name, ticket.path, ticket.key_id, quota.requests_per_second
    from sluice.tickets as ticket
    join sluice.tenants as tenant on tenant.id = ticket.tenant_id
    left join sluice.quotas as quota on quota.tenant_id = ticket.tenant_id
    where ticket.hash = ticket_hash and ticket.expires_at > now() and tenant.disabled_at is null
        and (ticket.key_id is null or exists (
            select from sluice.api_keys as key
            where key.tenant_id = ticket.tenant_id and key.id = ticket.key_id and key.revoked_at is null
                and (key.expires_at is null or key.expires_at > now())));
end;
grant execute on function find_ticket to sluice_auth;
reset role;
