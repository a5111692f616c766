# The CUDA device is a plugin of the worker, sluice-cuda.so. What of CUDA a machine has decides what is built: the
# toolkit's headers are enough for the plugin's C files and for its tests, in which C++ on the CPU stands for nvcc and
# for a card (tests/support/cuda_on_cpu); with nvcc the plugin itself is built; with neither, all of it is left out.
FOUND_NVCC := $(realpath $(shell command -v nvcc))
CUDA_HOME := $(or $(CUDA_HOME),$(patsubst %/include/cuda_runtime_api.h,%,$(wildcard $(FOUND_NVCC:%/bin/nvcc=%/include/cuda_runtime_api.h))),/usr/local/cuda)
# Switching the stacks of a block's threads needs a few lines of x86-64 (tests/support/cuda_on_cpu/grid.c).
HAS_CUDA := $(and $(wildcard $(CUDA_HOME)/include/cuda_runtime_api.h),$(shell command -v $(firstword $(CXX))),\
    $(filter x86_64,$(shell uname -m)),yes)
NVCC := $(and $(HAS_CUDA),$(wildcard $(CUDA_HOME)/bin/nvcc))
# CUDA_INCLUDES: folders of the headers of cuBLAS, cuDNN and NVRTC, where these are not beside the toolkit's.
CUDA_CFLAGS := $(if $(HAS_CUDA),$(patsubst %,-isystem %,$(CUDA_HOME)/include $(CUDA_INCLUDES)))

# Objects of the plugin stand in programs (tests) and in shared objects.
$(OUT)/worker/cuda/%.o $(OUT)/gen/worker/cuda/%.o $(OUT)/tests/support/cuda_on_cpu/%.o: CFLAGS += -fPIC

# For the CPU: no runtime of C++ is needed, so that programs are linked as those of C are. Kernels of products are mostly
# fmaf(), which is an instruction where this machine has it, and else a call; both round once.
CUDA_ON_CPU := tests/support/cuda_on_cpu
CUDA_ON_CPU_FMA := $(if $(shell grep -m1 -ow fma /proc/cpuinfo 2>/dev/null),-mfma)
CXXFLAGS_cuda := -std=gnu++17 -Wall -Wextra -Wshadow -Werror -g -fvisibility=hidden -ffunction-sections -fdata-sections \
    -ffp-contract=off -Wno-unknown-pragmas -fno-exceptions -fno-rtti -fno-threadsafe-statics -pthread $(CUDA_ON_CPU_FMA)
$(OUT)/%.cu.o: %.cu $(OUT)/flags
	@mkdir -p $(@D); echo "CXX  $<"; $(filter %ccache,$(CC)) $(CXX) $(CPPFLAGS) $(CUDA_CFLAGS) -include $(CUDA_ON_CPU)/language.cuh \
	    $(CXXFLAGS_cuda) $(CFLAGS_$(VARIANT):-O2=-O1) -fPIC -MMD -MP -x c++ -c -o $@ $<

# In tests this compiler is NVRTC's: what it is given while they run it compiles as kernels are compiled here.
$(OUT)/tests/support/fake_nvrtc.c.o: private CPPFLAGS += -D'FAKE_NVRTC_COMPILER="$(CXX) $(CUDA_CFLAGS) $(filter-out \
    -Werror -f%-sections,$(CXXFLAGS_cuda)) -O1 -fPIC -x c++"'
