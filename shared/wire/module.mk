$(call module,shared/wire,shared/base shared/json shared/tensor)
