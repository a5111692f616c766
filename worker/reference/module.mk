# The reference kernels stand in the families' folders, beside what defines their ops; what several of them use stands here.
$(call module,worker/reference,shared/base shared/tensor shared/graph shared/ops worker/runtime worker/runtime/partition worker/runtime/run,,$(OP_KERNELS))
