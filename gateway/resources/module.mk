$(call module,gateway/resources,shared/base shared/json gateway/domain gateway/store gateway/queue gateway/jobs gateway/http)
