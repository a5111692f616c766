select version, name, checksum from schema_version order by version
