$(call module,gateway/plan,shared/base shared/json shared/tensor shared/graph shared/ops shared/formats shared/crypto gateway/optimise)
