$(call module,gateway/domain,shared/base)
