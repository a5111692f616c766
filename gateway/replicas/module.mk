$(call module,gateway/replicas,shared/base gateway/store gateway/graphs gateway/sessions gateway/traces gateway/steps gateway/app)
