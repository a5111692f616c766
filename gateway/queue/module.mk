$(call module,gateway/queue,shared/base shared/net shared/telemetry gateway/domain gateway/admission gateway/store)
