$(call module,gateway/partials,shared/base gateway/resources gateway/steps)
