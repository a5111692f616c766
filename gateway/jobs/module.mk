$(call module,gateway/jobs,shared/base shared/net gateway/domain gateway/store)
