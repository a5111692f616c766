# A recipe below may change what is generated (a header moves): then it is generated anew.
REGISTRY_RULES := tools/mk/registry.mk

# $(call names,FOLDER,NAMES): FOLDER/names is newer when the names are others; a file that has gone is older than nothing.
define names_define
$(1)/names: FORCE
	@echo '$(2)' | cmp -s - $$@ || tools/write_into $$@ echo '$(2)'
endef
names = $(eval $(call names_define,$(1),$(2)))

# $(call registry,DIRECTORY,TYPE,PREFIX,HEADER,NAMES): every DIRECTORY/name.c defines `const TYPE PREFIX_name`;
# the build writes the sorted table of them, PREFIX_table, also of none. The directory listing is the registry.
# NAMES are told where the files have a folder each. Who reads the table is linked with the directory (tools/write_links).
define registry_define
NAMES_$(3) := $(sort $(or $(5),$(basename $(notdir $(wildcard $(1)/*.c)))))
$(OUT)/gen/$(1)/table.c: $(OUT)/gen/$(1)/names tools/write_table $(REGISTRY_RULES)
	@tools/write_into $$@ tools/write_table $(1) $(2) $(3) $(4) $$(NAMES_$(3))
$(call names_define,$(OUT)/gen/$(1),$$(NAMES_$(3)))
GENERATED_$(1) += $(OUT)/gen/$(1)/table.c
TABLES += $(3)_table=$(1)
endef
registry = $(if $(wildcard $(strip $(4))),$(eval $(call registry_define,$(strip $(1)),$(strip $(2)),$(strip $(3)),$(strip $(4)),$(strip $(5)))))

# $(call family_files,KIND): KIND.c of the family `shape` is named shape, word_KIND.c of it shape_word.
family_files = $(patsubst %_$(1),%,$(subst /,_,$(patsubst shared/ops/%.c,%,$(wildcard shared/ops/*/*$(1).c))))
$(call registry,shared/ops,OpFamily,op_family,shared/ops/family.h,$(call family_files,definition))
$(call registry,worker/reference,KernelFamily,reference,worker/runtime/kernel.h,$(call family_files,kernel))
$(call registry,worker/cpu/kernels,KernelFamily,cpu_kernels,worker/runtime/kernel.h)
$(if $(HAS_CUDA),$(call registry,worker/cuda/kernels,KernelFamily,cuda_kernels,worker/runtime/kernel.h))
$(call registry,worker/serve/methods,WorkerMethod,worker_method,worker/serve/method.h)
$(call registry,gateway/optimise/passes,Pass,pass,gateway/optimise/pass.h)
$(call registry,gateway/handlers,Handler,handler,gateway/http/handler.h)
$(call registry,gateway/cli/commands,Command,command,gateway/cli/command.h)

# SQL lives in .sql files: each becomes `const Statement sql_<name>` and a row of sql_table[].
SQL := $(sort $(wildcard gateway/store/*.sql))
ifneq ($(SQL),)
GENERATED_gateway/store += $(OUT)/gen/gateway/store/sql.c
$(call names,$(OUT)/gen/gateway/store,$(SQL))
$(OUT)/gen/gateway/store/sql.c: $(SQL) $(OUT)/gen/gateway/store/names tools/embed_sql $(REGISTRY_RULES)
	@tools/write_into $@ tools/embed_sql $(SQL)

# The migrations travel inside the gateway, which refuses a schema it does not know.
MIGRATIONS := $(sort $(wildcard migrations/*.sql))
GENERATED_gateway/store += $(OUT)/gen/migrations/table.c
$(call names,$(OUT)/gen/migrations,$(MIGRATIONS))
$(OUT)/gen/migrations/table.c: $(MIGRATIONS) $(OUT)/gen/migrations/names tools/embed_migrations $(REGISTRY_RULES)
	@tools/write_into $@ tools/embed_migrations $(MIGRATIONS)
endif

# The contract of the REST API travels inside the gateway, which serves it. openapi.json is the same as
# openapi.yaml for tools that read no YAML: `make openapi` writes it anew, a test compares.
OPENAPI := openapi/openapi.yaml openapi/openapi.json
ifneq ($(wildcard openapi/openapi.yaml),)
GENERATED_gateway/handlers += $(OUT)/gen/openapi/documents.c
$(OUT)/gen/openapi/documents.c: $(OPENAPI) tools/embed_text $(REGISTRY_RULES)
	@tools/write_into $@ tools/embed_text gateway/handlers/documents.h $(OPENAPI)
PAGES := $(sort $(wildcard gateway/handlers/pages/*.html))
GENERATED_gateway/handlers += $(OUT)/gen/openapi/pages.c
$(call names,$(OUT)/gen/openapi,$(PAGES))
$(OUT)/gen/openapi/pages.c: $(PAGES) $(OUT)/gen/openapi/names tools/embed_text $(REGISTRY_RULES)
	@tools/write_into $@ tools/embed_text gateway/handlers/pages.h $(PAGES)
$(OUT)/gen/openapi/openapi.json: openapi/openapi.yaml tools/yaml_to_json
	@tools/write_into $@ tools/yaml_to_json $<
$(OUT)/tests/contract/openapi_test: | $(OUT)/gen/openapi/openapi.json
openapi: ; @tools/yaml_to_json openapi/openapi.yaml > openapi/openapi.json
.PHONY: openapi
endif

# What of the kernels is compiled by NVRTC while a worker runs travels inside the plugin.
FUSION_TEXTS := $(addprefix worker/cuda/,$(addprefix fusion/,fused.cuh fused.h) \
    $(addprefix kernels/,convert.cuh functions.cuh functions.h language.cuh offsets.cuh values.cuh))
ifdef HAS_CUDA
GENERATED_worker/cuda/fusion += $(OUT)/gen/worker/cuda/fusion/texts.c
$(OUT)/gen/worker/cuda/fusion/texts.c: $(FUSION_TEXTS) tools/embed_text $(REGISTRY_RULES)
	@tools/write_into $@ tools/embed_text worker/cuda/fusion/texts.h $(FUSION_TEXTS)
endif

# The version that `--version` prints stands in one file.
GENERATED_shared/config += $(OUT)/gen/shared/config/version.c
$(OUT)/gen/shared/config/version.c: VERSION $(REGISTRY_RULES)
	@tools/write_into $@ printf '#include "shared/config/config.h"\nconst char config_version[] = "%s";\n' "$$(cat VERSION)"
