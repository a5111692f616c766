PACKAGE_LIBS = $(call pkg_config,$(sort $(PACKAGES)),--libs) -lm
objects = $(patsubst %,$(OUT)/%.o,$(SOURCES_$(1))) $(GENERATED_$(1):%=%.o)

# A program exists when its main.c does.
PROGRAM_gateway := $(if $(wildcard gateway/main.c),$(OUT)/sluice-gateway)
PROGRAM_worker  := $(if $(wildcard worker/main.c),$(OUT)/sluice-worker)
PROGRAM_cli     := $(if $(wildcard gateway/cli/main.c),$(OUT)/sluice)
PROGRAMS := $(PROGRAM_gateway) $(PROGRAM_worker) $(PROGRAM_cli)

all: $(PROGRAMS) $(OUT)/libshared.a

$(foreach a,shared gateway worker cli,$(eval $(OUT)/lib$(a).a: $(filter-out %/main.c.o,$(call objects,$(a)))))
$(OUT)/lib%.a:
	@mkdir -p $(@D); rm -f $@; ar rcs $@ $^

$(OUT)/sluice-gateway: $(OUT)/gateway/main.c.o $(OUT)/libgateway.a $(OUT)/libshared.a
$(OUT)/sluice-worker: $(OUT)/worker/main.c.o $(OUT)/libworker.a $(OUT)/libshared.a
$(OUT)/sluice: $(OUT)/gateway/cli/main.c.o $(OUT)/libcli.a $(OUT)/libgateway.a $(OUT)/libshared.a
$(OUT)/sluice-gateway $(OUT)/sluice-worker $(OUT)/sluice:
	@echo "LINK $@"; $(CC) $(LDFLAGS) -o $@ $^ $(PACKAGE_LIBS)

$(OUT)/gen/%.c.o: $(OUT)/gen/%.c $(OUT)/flags
	@echo "CC   $<"; $(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<
$(OUT)/%.c.o: %.c $(OUT)/flags
	@mkdir -p $(@D); echo "CC   $<"; $(CC) $(CPPFLAGS) $(PACKAGE_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# Objects are rebuilt when the flags change, not only when the sources do.
$(OUT)/flags: FORCE
	@mkdir -p $(@D); echo '$(CC) $(CPPFLAGS) $(CFLAGS)' | cmp -s - $@ || echo '$(CC) $(CPPFLAGS) $(CFLAGS)' > $@

-include $(shell test -d $(OUT) && find $(OUT) -name '*.d')
clean: ; rm -rf build
clean-all: clean ; rm -rf var
.PHONY: FORCE all clean clean-all
