-- The column usable_from is the migrator's (migrate.c); a database that was migrated otherwise may lack it.
select version, name, checksum, (to_jsonb(schema_version) ->> 'usable_from')::bigint
from schema_version
order by version
