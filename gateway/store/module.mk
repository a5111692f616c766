$(call module,gateway/store,shared/base shared/crypto gateway/domain,libpq)
