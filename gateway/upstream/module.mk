$(call module,gateway/upstream,shared/base shared/net shared/h2 shared/tensor shared/wire)
