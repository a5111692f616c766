$(call module,worker/runtime,shared/base shared/tensor shared/graph shared/ops)
