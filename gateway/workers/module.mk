$(call module,gateway/workers,shared/base shared/json shared/wire shared/telemetry gateway/store gateway/jobs gateway/dispatch gateway/domain gateway/kubernetes gateway/http gateway/resources)
