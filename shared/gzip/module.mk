$(call module,shared/gzip,shared/base,zlib)
