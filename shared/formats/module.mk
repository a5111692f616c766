$(call module,shared/formats,shared/base shared/crypto shared/json shared/tensor shared/graph)
