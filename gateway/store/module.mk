$(call module,gateway/store,shared/base shared/crypto shared/telemetry gateway/domain,libpq)
