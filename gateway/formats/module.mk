$(call module,gateway/formats,shared/base shared/crypto shared/tensor shared/graph shared/formats)
