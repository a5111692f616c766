$(call module,gateway/resources,shared/base shared/json gateway/store gateway/http gateway/app)
