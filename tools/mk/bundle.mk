# make cuda-bundle: build/cuda-bundle, which a machine with a GPU runs as it is (tests/bundle/run, `run 1`); needs the toolkit.
BUNDLE := build/cuda-bundle
CUDA_STATIC := $(wildcard $(addsuffix /libcudart_static.a,$(CUDA_HOME)/lib64 $(CUDA_HOME)/lib))
HAS_BUNDLE := $(and $(HAS_CUDA),$(CUDA_STATIC),yes)
# Sluice on a card, from outside; a CPU in place of a card runs it, too (tests/integration/cuda_bench_test.py).
CUDA_BENCH := $(OUT)/tests/bench/cuda/cuda_bench
BUNDLE_PROGRAMS := $(if $(HAS_BUNDLE),$(addprefix $(OUT)/tests/bundle/,facts library_facts library_epilogues library_bench) $(CUDA_BENCH))
BUNDLE_PLUGIN := $(if $(and $(NVCC),$(wildcard worker/cuda/plugin.c)),$(OUT)/sluice-cuda.so)
$(CUDA_BENCH): ; $(link_test)
CUDART := $(firstword $(CUDA_STATIC)) -ldl -lrt -pthread

$(OUT)/tests/bundle/facts: tests/bundle/facts.c $(OUT)/worker/accelerator/cuda_driver.c.o $(OUT)/lib/shared/base.a
	@mkdir -p $(@D); echo "LINK $@"; $(CC) $(CPPFLAGS) $(CUDA_CFLAGS) $(CFLAGS) $(LDFLAGS) -MMD -MP -o $@ \
	    $(filter %.c %.o %.a,$^) $(CUDART)

# The plugin's own code opens the libraries.
$(OUT)/tests/bundle/library_%: tests/bundle/library_%.c tests/bundle/library.c $(addprefix $(OUT)/worker/cuda/,libraries.c.o library.c.o \
    blas/description.c.o blas/plan.c.o dnn/graph.c.o dnn/plan.c.o) $(OUT)/lib/shared/base.a
	@mkdir -p $(@D); echo "LINK $@"; $(CC) $(CPPFLAGS) $(CUDA_CFLAGS) $(CFLAGS) $(LDFLAGS) -MMD -MP -o $@ \
	    $(filter %.c %.o %.a,$^) $(CUDART) -lm

# Tests of the plugin's own code that hold on a card too, linked with CUDA's runtime.
CARD_TEST_PROGRAMS := $(if $(HAS_BUNDLE),$(OUT)/tests/card/device_test)
$(OUT)/tests/card/%_test: $(OUT)/tests/unit/worker/cuda/%_test.c.o $(OUT)/tests/support/cuda_on_cpu/cuda_bench.c.o \
    $(OUT)/tests/support/process.c.o $(OUT)/tests/bundle/cuda_on_card.c.o $(ARCHIVES)
	$(call link,,$(CUDART) -lcmocka)

KERNEL_TESTS := $(shell grep -l 'cuda_kernels\.h' tests/unit/worker/cuda/*_test.c tests/conformance/*_test.c)
# Graphs that run on the card of a fixture: variables, lists, captured parts.
CARD_GRAPH_TESTS := $(shell grep -l 'cuda_fixture\.h' tests/unit/worker/cuda/*_test.c)
# Tests that compare kernels with the reference kernels are one program, tests/card/kernels, with the kernels as nvcc compiles
# them for the card, which are large. Those that play a library are no tests of a card.
CARD_KERNEL_TESTS := $(if $(and $(HAS_BUNDLE),$(NVCC)),$(basename $(shell grep -L 'cuda/library\.h' $(sort $(KERNEL_TESTS) $(CARD_GRAPH_TESTS)))))
CARD_KERNEL_OBJECTS := $(foreach t,$(CARD_KERNEL_TESTS),$(OUT)/tests/card/$(notdir $(t)).o)
define renamed_main
$(OUT)/tests/card/$(notdir $(1)).o: $(OUT)/$(1).c.o
	@mkdir -p $$(@D); objcopy --redefine-sym main=$(notdir $(1)) $$< $$@
endef
$(foreach t,$(CARD_KERNEL_TESTS),$(eval $(call renamed_main,$(t))))
$(OUT)/tests/bundle/kernels.c.o: private CPPFLAGS += -D'CARD_TESTS=$(foreach t,$(CARD_KERNEL_TESTS),X($(notdir $(t))))'
$(OUT)/tests/card/kernels: $(OUT)/tests/bundle/kernels.c.o $(CARD_KERNEL_OBJECTS) $(OUT)/tests/bundle/cuda_on_card.c.o \
    $(patsubst %,$(OUT)/tests/support/%.c.o,cuda_kernels op_case reference_run tensor_literals process cuda_on_cpu/cuda_bench \
    attention_cases captured_networks cuda_fixture graph_case graph_literals partition_runs test_device test_graph turned_graphs) \
    $(CUDA_KERNELS:%=$(OUT)/nvcc/%.o) $(ARCHIVES)
	$(call link,,$(CUDART) -lstdc++ -lcmocka)
CARD_TEST_PROGRAMS += $(if $(CARD_KERNEL_TESTS),$(OUT)/tests/card/kernels)

cuda-bundle: $(if $(HAS_BUNDLE),$(OUT)/sluice-worker $(BUNDLE_PLUGIN) $(BUNDLE_PROGRAMS) $(CARD_TEST_PROGRAMS))
	@$(if $(HAS_BUNDLE),tools/cuda_bundle $(OUT) $(BUNDLE) "$(CARD_KERNEL_TESTS:%=%.c)" $(CARD_TEST_PROGRAMS),echo "skipped: no CUDA toolkit")
# What Sluice does on this machine's card, beside the libraries alone and PyTorch: the bundle's third call.
bench-cuda: cuda-bundle ; @$(if $(HAS_BUNDLE),$(BUNDLE)/run 3)
# The steps of that bundle that are tests, here.
test-cuda: cuda-bundle ; @$(if $(HAS_BUNDLE),$(BUNDLE)/run smoke ops)
.PHONY: cuda-bundle test-cuda bench-cuda
