$(call module,worker/cpu,shared/base shared/tensor shared/graph worker/runtime)
$(call module,worker/cpu/vector,shared/base shared/tensor worker/reference worker/runtime)
$(call module,worker/cpu/finish,shared/base shared/tensor shared/graph shared/ops worker/runtime worker/cpu/vector)
$(call module,worker/cpu/product,shared/base shared/tensor shared/graph worker/runtime worker/cpu worker/reference worker/cpu/finish worker/cpu/vector)
$(call module,worker/cpu/convolve,shared/base shared/tensor shared/graph shared/ops worker/runtime worker/cpu worker/cpu/finish worker/cpu/product worker/cpu/vector worker/reference)
$(call module,worker/cpu/onednn,shared/base shared/tensor shared/graph shared/ops worker/runtime worker/cpu worker/cpu/convolve worker/cpu/finish,dnnl gomp)
$(call module,worker/cpu/kernels,shared/base shared/tensor shared/graph shared/ops worker/runtime worker/cpu worker/cpu/convolve worker/cpu/finish worker/cpu/onednn worker/cpu/product worker/cpu/vector worker/reference,dnnl)
# Loops over many numbers are vectorised. Neither flag changes a bit: nobody here reads errno or the exception flags
# that a processor keeps.
$(OUT)/worker/cpu/kernels/%.o $(OUT)/worker/cpu/convolve/%.o $(OUT)/worker/cpu/finish/%.o $(OUT)/worker/cpu/product/%.o \
    $(OUT)/worker/cpu/vector/%.o: CFLAGS += $(VECTOR_CFLAGS)
