$(call module,worker/cpu,shared/base shared/tensor shared/graph worker/runtime)
$(call module,worker/cpu/onednn,shared/base shared/tensor shared/graph shared/ops worker/runtime,dnnl gomp)
$(call module,worker/cpu/kernels,shared/base shared/tensor shared/graph shared/ops worker/runtime worker/cpu/onednn worker/cpu/vector worker/reference,dnnl)
$(call module,worker/cpu/vector,shared/base worker/reference worker/runtime)
# Loops over many numbers are vectorised. Neither flag changes a bit: nobody here reads errno or the exception flags
# that a processor keeps.
$(OUT)/worker/cpu/kernels/%.o: CFLAGS += $(VECTOR_CFLAGS)
