$(call module,shared/upstream,shared/base shared/net shared/h2 shared/tensor shared/wire)
