$(call module,gateway/replicas,shared/base shared/net gateway/domain gateway/store gateway/jobs gateway/http gateway/auth gateway/resources gateway/traces gateway/steps gateway/partials)
