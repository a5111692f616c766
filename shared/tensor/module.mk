$(call module,shared/tensor,shared/base shared/json)
