$(call module,worker/runtime,shared/base shared/tensor shared/graph shared/ops)
$(call module,worker/runtime/partition,shared/base shared/tensor shared/graph shared/ops worker/runtime)
$(call module,worker/runtime/memory,shared/base shared/tensor shared/graph shared/ops worker/runtime worker/runtime/partition)
$(call module,worker/runtime/run,shared/base shared/tensor shared/graph worker/runtime worker/runtime/partition worker/runtime/memory)
# Elements that are repeated along lines are written by vectors.
$(OUT)/worker/runtime/partition/fused.c.o: CFLAGS += $(VECTOR_CFLAGS)
