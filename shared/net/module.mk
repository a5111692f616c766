$(call module,shared/net,shared/base)
