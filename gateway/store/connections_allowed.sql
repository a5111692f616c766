-- Returns how many connections all roles but superusers may open together.
select current_setting('max_connections')::bigint - current_setting('superuser_reserved_connections')::bigint
