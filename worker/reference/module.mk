# The reference kernels stand in the families' folders, beside what defines their ops; what several of them use stands here.
$(call module,worker/reference,shared/base shared/tensor shared/graph shared/ops worker/runtime worker/runtime/partition worker/runtime/run,,$(OP_KERNELS))
# Loops over elements are vectorised, which changes no bit: each element is computed as it would be alone.
$(OUT)/worker/reference/%.o $(OUT)/worker/runtime/partition/fused.o $(patsubst %.c,$(OUT)/%.o,$(filter %.c,$(OP_KERNELS))): \
    CFLAGS += $(if $(filter release,$(VARIANT)),-O3)
