$(call module,gateway/auth,shared/base shared/crypto gateway/domain gateway/store gateway/jobs gateway/http)
