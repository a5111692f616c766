# $(call module,DIRECTORY,MODULES IT MAY INCLUDE,PKG-CONFIG PACKAGES,FURTHER FILES)
# The second list is the layering rule: tools/check_layers reads it from the same line. A module is one archive, and
# a program is linked of those that its sources need (tools/write_links). Further files stand in folders that are
# divided between modules (shared/ops/module.mk): they include what the module may and what stands beside them.
# Neither Debian's oneDNN nor the OpenMP runtime it uses has a .pc file; of CUDA only headers are used (cuda.mk).
WITHOUT_PC := dnnl gomp
WITH_PC = $(filter-out $(WITHOUT_PC) cuda,$(1))
pkg_config = $(if $(WITH_PC),$(shell pkg-config $(2) $(WITH_PC) 2>/dev/null)) \
    $(if $(filter --libs,$(2)),$(addprefix -l,$(filter $(WITHOUT_PC),$(1))),$(if $(filter cuda,$(1)),$(CUDA_CFLAGS)))

define module_define
MODULES += $(1)
USES_$(1) := $(2)
SOURCES_$(1) := $(sort $(wildcard $(1)/*.c) $(filter %.c,$(4)))
KERNELS_$(1) := $(sort $(wildcard $(1)/*.cu))
$(OUT)/$(1)/%.o: PACKAGE_CFLAGS := $(call pkg_config,$(3),--cflags)
PACKAGES += $(3)
PACKAGES_$(1) := $(3)
FURTHER_$(1) := $(4)
endef
module = $(eval $(call module_define,$(strip $(1)),$(strip $(2)),$(strip $(3)),$(strip $(4))))
