$(call module,worker/reference,shared/base shared/tensor shared/graph shared/ops worker/runtime worker/reference/primitives)
$(call module,worker/reference/primitives,shared/base shared/tensor shared/graph shared/ops worker/runtime)
