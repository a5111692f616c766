$(call module,shared/ops,shared/base shared/tensor shared/graph)
$(call module,shared/ops/families,shared/base shared/tensor shared/graph shared/ops)
