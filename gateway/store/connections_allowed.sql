-- How many connections those who are no superuser may open together.
select current_setting('max_connections')::bigint - current_setting('superuser_reserved_connections')::bigint
