ifdef HAS_CUDA
$(call module,worker/cuda,shared/base shared/tensor shared/graph worker/runtime worker/cuda/fusion,cuda)
$(call module,worker/cuda/blas,shared/base shared/tensor shared/graph worker/runtime worker/cuda worker/cuda/kernels,cuda)
$(call module,worker/cuda/dnn,shared/base shared/tensor shared/graph worker/runtime worker/cuda worker/cuda/kernels,cuda)
$(call module,worker/cuda/fusion,shared/base shared/crypto shared/telemetry worker/runtime worker/cuda worker/cuda/kernels,cuda)
$(call module,worker/cuda/operands,shared/base shared/tensor shared/graph shared/ops worker/runtime worker/cuda worker/cuda/fusion worker/cuda/kernels worker/reference,cuda)
$(call module,worker/cuda/kernels,shared/base shared/tensor shared/graph shared/ops worker/runtime worker/reference worker/cuda worker/cuda/operands worker/cuda/blas worker/cuda/dnn worker/cuda/fusion,cuda)
endif
