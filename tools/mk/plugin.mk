# Plugins (worker/runtime/plugin.h) take from the worker what worker/plugin.symbols names. These modules have the names;
# -u keeps what only a plugin calls, and fails where a name is gone.
PLUGIN_SYMBOLS := worker/plugin.symbols
PLUGIN_MODULES := shared/base shared/crypto shared/tensor shared/graph shared/ops shared/telemetry worker/runtime worker/reference
PLUGIN_OBJECTS := $(filter-out $(OUT)/gen/%,$(foreach m,$(PLUGIN_MODULES),$(call objects,$(m))))
$(PLUGIN_OBJECTS): private CFLAGS += -fvisibility=default
$(PLUGIN_OBJECTS): tools/mk/plugin.mk

PLUGIN_NAMES := $(shell sed -n 's,/\*.*,,; s/;/ /g; s/^    //p' $(PLUGIN_SYMBOLS))
# The suite of ONNX opens a plugin too, without a worker's process.
PLUGIN_HOSTS := $(OUT)/sluice-worker $(OUT)/tests/conformance/onnx_suite_test
$(PLUGIN_HOSTS): private LDFLAGS += -Wl,--dynamic-list=$(PLUGIN_SYMBOLS) $(PLUGIN_NAMES:%=-Wl,-u,%)
$(PLUGIN_HOSTS): $(PLUGIN_SYMBOLS)
$(OUT)/tests/conformance/onnx_suite_test: $(OUT)/lib/shared/telemetry.a

# Every tests/plugins/<name>.c is a shared object for tests of the worker: a plugin, or the stub of a driver.
TEST_PLUGINS := $(patsubst %.c,$(OUT)/%.so,$(wildcard tests/plugins/*.c))
$(OUT)/tests/plugins/%.so: tests/plugins/%.c $(OUT)/flags
	@mkdir -p $(@D); echo "LINK $@"; $(CC) $(CPPFLAGS) $(CFLAGS) -fPIC -MMD -MP -shared -o $@ $(filter %.c,$^)
$(OUT)/tests/plugins/test_device_plugin.so: tests/support/test_device.c tests/support/test_graph.c
# The tests' CUDA finds the tests' CUPTI by this name (tests/support/cuda_on_cpu/activity.c).
$(OUT)/tests/plugins/libcupti.so: private CPPFLAGS += -Wl,-soname,libcupti.so.13
# cuDNN finds a driver by this name (tests/unit/worker/cuda/dnn_test.c).
$(OUT)/tests/plugins/cudnn_driver.so: private CPPFLAGS += -Wl,-soname,libcuda.so.1
ifneq (,$(and $(HAS_CUDA),$(wildcard worker/cuda/plugin.c)))
TEST_PLUGINS += $(OUT)/tests/sluice-cuda-on-cpu.so
endif
plugins: $(TEST_PLUGINS)
check-plugins: $(OUT)/sluice-worker $(TEST_PLUGINS)
	@tools/check_plugin $(PLUGIN_SYMBOLS) $(OUT) $(filter-out %/greedy_plugin.so %/unlinked_plugin.so,$(wildcard $(TEST_PLUGINS) $(OUT)/sluice-cuda.so))
.PHONY: plugins check-plugins
