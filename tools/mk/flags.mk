# One place for every compiler flag. A variant adds to the base; it never replaces it.
CSTD := -std=gnu11
WARNINGS := -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wstrict-prototypes \
    -Wmissing-prototypes -Wold-style-definition -Wcast-qual -Wcast-align \
    -Wwrite-strings -Wpointer-arith -Wvla -Wformat=2 -Wundef -Wswitch-enum -Wimplicit-fallthrough \
    -Wnull-dereference -Wdouble-promotion -Wredundant-decls -Winit-self
ifneq (,$(findstring Free Software,$(shell $(CC) --version 2>/dev/null)))
WARNINGS += -Wduplicated-cond -Wduplicated-branches -Wlogical-op -Wjump-misses-init -Wformat-signedness
else
WARNINGS += -Wmissing-variable-declarations -Wcomma -Wunreachable-code -Wno-gnu-statement-expression
endif

# -ffp-contract=off: the same bits on every machine (no fused multiply-add behind the author's back).
CPPFLAGS := -I. -I$(OUT)/gen -D_GNU_SOURCE
CFLAGS   := $(CSTD) $(WARNINGS) -Werror -g -fno-common -fvisibility=hidden -ffunction-sections \
    -fdata-sections -ffp-contract=off -pthread
LDFLAGS  := -Wl,--gc-sections -Wl,--as-needed -pthread

CFLAGS_release  := -O2 -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fPIE
LDFLAGS_release := -pie -Wl,-z,relro,-z,now
CFLAGS_debug    := -Og
CFLAGS_asan     := -O1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
CFLAGS_tsan     := -O1 -fsanitize=thread
CFLAGS_coverage := -O0 --coverage
# A tensor without elements has no data: NULL + 0 is meant.
CFLAGS_fuzz     := -O1 -fno-omit-frame-pointer -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=all \
    -fno-sanitize=pointer-overflow
CFLAGS += $(CFLAGS_$(VARIANT)) $(if $(filter asan tsan fuzz,$(VARIANT)),-Wno-error)
LDFLAGS += $(LDFLAGS_$(VARIANT)) $(filter -fsanitize% --coverage,$(CFLAGS_$(VARIANT)))

# For loops over many numbers (worker/cpu/module.mk).
VECTOR_CFLAGS := $(if $(filter release,$(VARIANT)),-O3) -fopenmp-simd -fno-math-errno -fno-trapping-math

# What people start builds on every core, unless they said -j themselves.
PARALLEL = $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(shell nproc))
