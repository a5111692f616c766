$(call module,gateway/events,shared/base shared/net shared/telemetry gateway/domain gateway/store gateway/jobs gateway/http)
