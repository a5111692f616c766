$(call module,worker/cpu,shared/base shared/tensor shared/graph worker/runtime)
$(call module,worker/cpu/onednn,shared/base shared/tensor shared/graph shared/ops worker/runtime,dnnl gomp)
$(call module,worker/cpu/kernels,shared/base shared/tensor shared/graph shared/ops worker/runtime worker/cpu/onednn worker/reference,dnnl)
