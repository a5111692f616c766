$(call module,gateway/sessions,shared/base shared/json shared/wire gateway/domain gateway/store gateway/jobs gateway/http gateway/optimise gateway/plan gateway/dispatch gateway/resources)
