$(call module,gateway/replicas,shared/base gateway/store gateway/jobs gateway/http gateway/resources gateway/traces gateway/steps gateway/partials)
