$(call module,shared/config,shared/base)
