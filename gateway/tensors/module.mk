$(call module,gateway/tensors,shared/base shared/tensor gateway/domain gateway/store gateway/jobs gateway/dispatch)
