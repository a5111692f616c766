# One folder a family. Both programs know what an op is: definition.c and rule.c, also with a word in front (onnx_definition.c).
# Every other file of a family computes, and is the worker's (worker/reference/module.mk). No family includes another.
OP_RULES := $(sort $(wildcard shared/ops/*/*definition.c shared/ops/*/*rule.[ch]))
OP_KERNELS := $(filter-out $(OP_RULES),$(sort $(wildcard shared/ops/*/*.[ch])))
$(call module,shared/ops,shared/base shared/tensor shared/graph,,$(OP_RULES))
