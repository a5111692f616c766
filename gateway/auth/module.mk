$(call module,gateway/auth,shared/base gateway/domain gateway/store gateway/http gateway/app)
