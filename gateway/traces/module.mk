$(call module,gateway/traces,shared/base shared/json shared/wire gateway/dispatch)
