$(call module,worker/accelerator,shared/base shared/tensor shared/graph shared/config shared/telemetry worker/runtime)
