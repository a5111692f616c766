$(call module,gateway/workers,shared/base shared/json shared/telemetry gateway/store gateway/jobs gateway/dispatch gateway/domain gateway/http gateway/resources)
