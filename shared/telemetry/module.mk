$(call module,shared/telemetry,shared/base)
