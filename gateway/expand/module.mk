$(call module,gateway/expand,shared/base shared/tensor shared/graph shared/ops)
