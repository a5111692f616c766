# The plugin, sluice-cuda.so: kernels by nvcc, the rest by the C compiler, CUDA's runtime linked into it; of all its names
# only sluice_plugin can be seen. `make` builds it where nvcc is found. CUDA_ARCHS names the cards that it is built for: one
# while it is written, RELEASE_ARCHS in what others run. A card newer than the last translates what the last has (PTX).
# sluice-cuda-on-cpu.so is the same with tests/support/cuda_on_cpu for the runtime and the card: tests load it.
CUDA_ARCHS ?= 90
RELEASE_ARCHS := 75 80 86 89 90 100 120
CUDA_MODULES := $(filter worker/cuda worker/cuda/%,$(MODULES))
CUDA_C_OBJECTS := $(foreach m,$(CUDA_MODULES),$(SOURCES_$(m):%=$(OUT)/%.o) $(GENERATED_$(m):%=%.o))
CUDA_KERNELS := $(foreach m,$(CUDA_MODULES),$(KERNELS_$(m)))
CUDA_ON_CPU_OBJECTS := $(patsubst %,$(OUT)/%.o,$(filter-out %_bench.c,$(wildcard $(CUDA_ON_CPU)/*.c)) $(CUDA_KERNELS))

NVCC_FLAGS := -std=c++17 -O3 --fmad=false --ftz=false --prec-div=true --prec-sqrt=true -I. -DNDEBUG \
    -Xcompiler -fPIC,-fvisibility=hidden,-ffunction-sections $(foreach a,$(CUDA_ARCHS),-gencode arch=compute_$(a),code=sm_$(a)) \
    -gencode arch=compute_$(lastword $(CUDA_ARCHS)),code=compute_$(lastword $(CUDA_ARCHS)) -Xptxas -v
# At most two nvcc run at once, each by a lock of its own: one may take half a gigabyte and a minute. Beside each object lies
# what ptxas says of its kernels (make cuda-budget); what else the compiler says, it says.
$(OUT)/nvcc/%.o: % $(OUT)/nvcc/flags
	@mkdir -p $(@D); echo "NVCC $<"; flock $(OUT)/nvcc/slot$$(($$(echo $< | cksum | cut -d' ' -f1) % 2)) \
	    $(filter %ccache,$(CC)) $(NVCC) $(NVCC_FLAGS) -MMD -MP -MF $(@:.o=.d) -c -o $@ $< 2>$(@:.o=.usage) || { cat $(@:.o=.usage) >&2; exit 1; }
	@sed '/^ptxas info/d; /bytes stack frame/d' $(@:.o=.usage) >&2
$(OUT)/nvcc/flags: FORCE
	@mkdir -p $(@D); echo '$(NVCC_FLAGS)' | cmp -s - $@ || echo '$(NVCC_FLAGS)' > $@

link_plugin = @mkdir -p $(@D); echo "LINK $@"; $(CC) $(filter-out -pie,$(LDFLAGS)) -shared -Wl,--exclude-libs,ALL -o $@ \
    $(filter %.o,$^) $(1) -lm
$(OUT)/sluice-cuda.so: $(CUDA_C_OBJECTS) $(CUDA_KERNELS:%=$(OUT)/nvcc/%.o)
	$(call link_plugin,-L$(CUDA_HOME)/lib64 -lcudart_static -lstdc++ -ldl -lrt)
$(OUT)/tests/sluice-cuda-on-cpu.so: $(CUDA_C_OBJECTS) $(CUDA_ON_CPU_OBJECTS)
	$(call link_plugin)

cuda: $(if $(NVCC),$(OUT)/sluice-cuda.so)
	@$(if $(NVCC),,echo "there is no nvcc: CUDA_HOME names the folder of a CUDA toolkit" >&2; exit 1)
cuda-release: ; @$(MAKE) --no-print-directory cuda cuda-budget CUDA_ARCHS='$(RELEASE_ARCHS)'
# Registers, shared memory, stack and spills of every kernel, for CUDA_ARCHS, beside what worker/cuda/budget.tsv allows.
cuda-budget: $(if $(NVCC),$(CUDA_KERNELS:%=$(OUT)/nvcc/%.o))
	@$(if $(NVCC),tools/cuda_budget worker/cuda/budget.tsv $(CUDA_KERNELS:%=$(OUT)/nvcc/%.usage),echo "skipped: no CUDA toolkit")
ifneq (,$(and $(NVCC),$(wildcard worker/cuda/plugin.c)))
all: $(OUT)/sluice-cuda.so
endif
.PHONY: cuda cuda-release cuda-budget
