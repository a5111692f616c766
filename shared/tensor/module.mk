$(call module,shared/tensor,shared/base shared/crypto shared/json)
