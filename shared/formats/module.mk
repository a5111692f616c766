$(call module,shared/formats,shared/base shared/json shared/tensor shared/graph)
