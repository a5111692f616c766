$(call module,gateway/formats,shared/base shared/tensor shared/graph shared/formats)
