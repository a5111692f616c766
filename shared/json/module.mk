$(call module,shared/json,shared/base,libcjson)
