PACKAGE_LIBS = $(call pkg_config,$(sort $(PACKAGES)),--libs) -lm
# Archives need each other in circles where one reads another's table.
link = @mkdir -p $(@D); echo "LINK $@"; $(CC) $(LDFLAGS) $(1) -o $@ $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group \
    $(2) $(PACKAGE_LIBS)

PROGRAM_SOURCES := gateway/main.c worker/main.c gateway/cli/main.c
PROGRAMS := $(OUT)/sluice-gateway $(OUT)/sluice-worker $(OUT)/sluice
all: $(PROGRAMS)
$(PROGRAMS): ; $(call link)

# One archive a module.
ARCHIVES := $(MODULES:%=$(OUT)/lib/%.a)
objects = $(patsubst %,$(OUT)/%.o,$(filter-out %/main.c,$(SOURCES_$(1))) $(KERNELS_$(1))) $(GENERATED_$(1):%=%.o)
$(foreach m,$(MODULES),$(eval $(OUT)/lib/$(m).a: $(call objects,$(m))))
$(ARCHIVES): $(OUT)/members
	@mkdir -p $(@D); rm -f $@; ar rcs $@ $(filter %.o,$^)

# Archives are made anew when a file goes or moves, not only when one is newer.
$(OUT)/members: FORCE
	$(shell mkdir -p $(OUT))$(file >$@.now,$(foreach m,$(MODULES),$(m): $(call objects,$(m))))
	@cmp -s $@.now $@ || cp $@.now $@

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
