$(call module,gateway/dispatch,shared/base shared/net shared/tensor shared/json shared/wire shared/telemetry gateway/admission gateway/plan shared/upstream shared/h2 shared/crypto gateway/store)
