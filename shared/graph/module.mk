$(call module,shared/graph,shared/base shared/tensor)
