C_FILES = $(sort $(foreach m,$(MODULES),$(SOURCES_$(m))) $(PROGRAM_SOURCES))
ALL_C = $(shell git ls-files --cached --others --exclude-standard '*.c' '*.h')
ALL_CU = $(shell git ls-files --cached --others --exclude-standard '*.cu' '*.cuh')

lint: check-layers check-sizes check-headers check-banned check-dialect check-symbols check-circles
	@clang-format --dry-run --Werror $(ALL_C) $(ALL_CU)
	@cppcheck --quiet --std=c11 --enable=warning,performance,portability --inline-suppr --error-exitcode=1 \
	    --suppress=missingIncludeSystem -U__clang__ -I. $(C_FILES)
	@$(MAKE) --no-print-directory --keep-going $(PARALLEL) tidy

# A file is read again when its object is newer: the object knows what it includes.
$(OUT)/lint/%: PACKAGE_CFLAGS = $(call pkg_config,$(sort $(PACKAGES)),--cflags)
tidy: $(C_FILES:%=$(OUT)/lint/%.tidy)
$(OUT)/lint/%.tidy: $(OUT)/%.o .clang-tidy
	@mkdir -p $(@D); echo "TIDY $*"
	@clang-tidy --quiet $* -- $(CSTD) $(CPPFLAGS) $(PACKAGE_CFLAGS) 2>$@.err || { cat $@.err >&2; exit 1; }
	@rm $@.err; touch $@

check-layers: ; @tools/check_layers $(foreach m,$(MODULES),$(m):$(call comma,$(USES_$(m))):$(call comma,$(PACKAGES_$(m))):$(call comma,$(FURTHER_$(m))))
check-sizes: ; @tools/check_sizes $(C_FILES)
check-banned: ; @tools/check_banned $(C_FILES)
check-dialect: ; @tools/check_dialect $(ALL_C)
check-symbols: $(ARCHIVES) $(patsubst %,$(OUT)/%.o,$(wildcard tests/support/*.c)) ; @tools/check_symbols $^
# Of the files of one circle, one cannot be understood or tested without the others.
check-circles: $(PROGRAMS) ; @tools/check_circles $(OUT) $(C_FILES)
check-headers:
	@for h in $$(git ls-files --cached --others --exclude-standard 'shared/*.h' 'gateway/*.h' 'worker/*.h' $(if $(HAS_CUDA),,':!worker/cuda')); do \
	    echo "#include \"$$h\"" | $(CC) $(CPPFLAGS) $(call pkg_config,$(sort $(PACKAGES)),--cflags) $(CSTD) -Wall -Wextra -Werror -fsyntax-only -x c - || exit 1; done
format: ; @clang-format -i $(ALL_C) $(ALL_CU)

check:
	@tools/install_packages build test check
	@$(MAKE) --no-print-directory lint
	@$(MAKE) --no-print-directory check-install
	@$(MAKE) --no-print-directory CC=clang OUT=build/clang all
	@$(MAKE) --no-print-directory test
	@$(MAKE) --no-print-directory cuda-budget
	@$(MAKE) --no-print-directory s3-server test-s3
	@$(MAKE) --no-print-directory test-isa
	@$(MAKE) --no-print-directory test-slowed
	@for v in asan tsan; do $(MAKE) --no-print-directory VARIANT=$$v run-unit-tests || exit 1; done
	@$(MAKE) --no-print-directory fuzz FUZZ_SECONDS=30
# For clangd (.clangd) and other tools that read C.
compile_commands.json: FORCE
	@printf '%s\n' $(C_FILES) $(shell find tests -name '*.c') | \
	    tools/write_compile_commands $(CC) $(CPPFLAGS) $(call pkg_config,$(sort $(PACKAGES)),--cflags) $(CFLAGS) > $@
.PHONY: lint tidy check-layers check-sizes check-banned check-dialect check-symbols check-circles check-headers format check
