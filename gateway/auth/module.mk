$(call module,gateway/auth,shared/base gateway/domain gateway/store gateway/jobs gateway/http)
