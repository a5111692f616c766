$(call module,gateway/optimise,shared/base shared/tensor shared/graph shared/ops)
$(call module,gateway/optimise/passes,shared/base shared/tensor shared/graph shared/ops gateway/optimise)
