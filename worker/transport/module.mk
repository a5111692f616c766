$(call module,worker/transport,shared/base shared/net shared/tensor shared/wire shared/upstream worker/runtime/run)
