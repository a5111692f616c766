$(call module,worker/cpu,shared/base shared/tensor shared/graph worker/runtime)
$(call module,worker/cpu/kernels,shared/base shared/tensor shared/graph worker/runtime worker/cpu,dnnl)
