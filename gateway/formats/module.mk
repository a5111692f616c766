$(call module,gateway/formats,shared/base shared/json shared/crypto shared/tensor shared/graph shared/formats)
