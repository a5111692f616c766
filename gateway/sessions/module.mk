$(call module,gateway/sessions,shared/base shared/json gateway/domain gateway/optimise gateway/plan gateway/steps gateway/partials gateway/app)
