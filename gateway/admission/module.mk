$(call module,gateway/admission,shared/base shared/net shared/telemetry gateway/domain)
