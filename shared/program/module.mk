$(call module,shared/program,shared/base shared/config shared/telemetry)
