# make cuda-bundle: build/cuda-bundle, which a machine with a GPU runs as it is (tests/bundle/run, `run 1`); needs the toolkit.
BUNDLE := build/cuda-bundle
CUDA_STATIC := $(wildcard $(addsuffix /libcudart_static.a,$(CUDA_HOME)/lib64 $(CUDA_HOME)/lib))
HAS_BUNDLE := $(and $(HAS_CUDA),$(CUDA_STATIC),yes)
BUNDLE_PROGRAMS := $(if $(HAS_BUNDLE),$(OUT)/tests/bundle/facts)
BUNDLE_PLUGIN := $(if $(and $(NVCC),$(wildcard worker/cuda/plugin.c)),$(OUT)/sluice-cuda.so)
CUDART := $(firstword $(CUDA_STATIC)) -ldl -lrt -pthread

$(OUT)/tests/bundle/facts: tests/bundle/facts.c $(OUT)/worker/accelerator/cuda_driver.c.o $(OUT)/lib/shared/base.a
	@mkdir -p $(@D); echo "LINK $@"; $(CC) $(CPPFLAGS) $(CUDA_CFLAGS) $(CFLAGS) $(LDFLAGS) -MMD -MP -o $@ \
	    $(filter %.c %.o %.a,$^) $(CUDART)

# Tests of the plugin's own code that hold on a card too, linked with CUDA's runtime.
CARD_TEST_PROGRAMS := $(if $(HAS_BUNDLE),$(OUT)/tests/card/device_test)
$(OUT)/tests/card/%_test: $(OUT)/tests/unit/worker/cuda/%_test.c.o $(OUT)/tests/support/cuda_on_cpu/cuda_bench.c.o \
    $(OUT)/tests/support/process.c.o $(OUT)/tests/bundle/cuda_on_card.c.o $(ARCHIVES)
	$(call link,,$(CUDART) -lcmocka)

cuda-bundle: $(if $(HAS_BUNDLE),$(OUT)/sluice-worker $(BUNDLE_PLUGIN) $(BUNDLE_PROGRAMS) $(CARD_TEST_PROGRAMS))
	@$(if $(HAS_BUNDLE),tools/cuda_bundle $(OUT) $(BUNDLE) $(CARD_TEST_PROGRAMS),echo "skipped: no CUDA toolkit")
# The step `smoke` of that bundle, here.
test-cuda: cuda-bundle ; @$(if $(HAS_BUNDLE),$(BUNDLE)/run smoke)
.PHONY: cuda-bundle test-cuda
