# What each program is linked of, written anew by every make that may link: tools/write_links reads the includes of the
# tests' files and takes a few hundredths of a second.
LINKED := $(PROGRAMS) $(NEXT_GATEWAY) $(filter-out $(if $(HAS_CUDA),,$(CUDA_TEST_PROGRAMS)),$(TEST_PROGRAMS)) $(FUZZ_PROGRAMS) $(BENCH_PROGRAMS) $(RIVALS_PROGRAMS) $(CUDA_BENCH)
LINKED_SOURCES := $(PROGRAM_SOURCES) gateway/main.c $(patsubst $(OUT)/%,%.c,$(filter-out $(PROGRAMS) $(NEXT_GATEWAY),$(LINKED)))
comma = $(subst $() ,$(),$(foreach i,$(1),$(i),))
MODULE_RULES := $(foreach m,$(MODULES),$(m):$(call comma,$(USES_$(m))):$(call comma,$(FURTHER_$(m))))
WITHOUT_LINKS := run test clean clean-all help fresh fresh-packages format check-layers check-sizes check-banned check-dialect
ifneq (,$(filter-out $(WITHOUT_LINKS),$(or $(MAKECMDGOALS),all)))
LINKS := $(shell mkdir -p $(OUT) && printf '%s\n' $(join $(LINKED:=:),$(LINKED_SOURCES)) | \
    tools/write_links '$$(OUT)' $(TABLES) $(MODULE_RULES) > $(OUT)/links.mk.$$$$ && mv $(OUT)/links.mk.$$$$ $(OUT)/links.mk && echo written)
$(if $(LINKS),,$(error the programs' archives could not be told: see above))
include $(OUT)/links.mk
endif
