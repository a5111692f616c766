# make                    the three programs, in build/release/
# make run                install what is missing, start PostgreSQL, gateway and two workers, run the main job; Ctrl-C ends all
# make test               install what is missing, build, run every test; VARIANT=debug|asan|tsan|coverage
# make test MODULE=dir    the unit tests of one module: MODULE=shared/base; of ops those of conformance: MODULE=shared/ops/pad; the routes: MODULE=gateway/handlers
# make test-isa           the kernels' tests as on machines with SSE4.1, AVX and AVX2 only
# make test-slowed        the tests of whole processes on one core, SLOWNESS (4) times slower
# make cuda-bundle        build/cuda-bundle: what a machine with an NVIDIA GPU needs to test Sluice on it, `run 1` there
# make test-cuda          the tests of the CUDA device that run on a card, on the card of this machine
# make conformance-tf     run a corpus of frozen TensorFlow graphs over REST: CORPUS=tar or folder; writes build/conformance-tf.json
# make deploy-test      ten rolling restarts of gateways and workers under 200 requests/s behind haproxy and nginx: nothing may fail
# make train-digits       a network learns handwritten digits over REST, by the same losses on any workers and threads
# make random-graphs      many random graphs give the same bits with all passes, called or lowered, on one to three workers; SEEDS=first:count
# make bench-cuda         Sluice on the card of this machine, beside its libraries alone and PyTorch (tests/bench/cuda.md)
# make cuda-budget        what of a card every kernel uses: registers, shared memory, stack, spills, beside worker/cuda/budget.tsv
# make cuda               the plugin for NVIDIA's cards, which `make` builds too where there is nvcc; CUDA_ARCHS=90 names cards
# make check              everything a change must pass: lint, both compilers, sanitizers, longer fuzzing
# make bench              measure and print the table of tests/bench; writes build/bench.json
# make loads              whole systems under load, 15 minutes: memory, and what tenants notice of each other; LENGTH=full an hour; writes build/loads.json
# make strangers          kills, stops, jumps and races against a running Sluice, and what held; a quarter of an hour at most
# make contract          spectral, a generated client and schemathesis hold the gateway to openapi.yaml; what they need comes from PyPI and npm
# make bench-rivals       the same graphs on TensorFlow and ONNX Runtime beside; writes build/bench-rivals.json
# make bench-models       every .onnx model in the folder MODELS beside ONNX Runtime; writes build/bench-models.json
# make bench-kernels      kernels one by one beside ONNX Runtime and the machine's limit; writes build/bench-kernels.md
# make fuzz               every fuzz target for FUZZ_SECONDS (20) each
# make docs               write the tables of docs/ (settings, limits, packages, operations) from the programs' own
# make fresh              prove `make run`, `make test` and the packages in a pristine Debian made by debootstrap
# make fresh-packages     the packages alone: installed, started by systemd, upgraded, removed and purged there
# make format             clang-format over the tree; `make lint` checks it
# make install            programs, units, manual pages, contract, licence, example: DESTDIR= PREFIX=/usr/local
# make deb                Debian packages of the programs and of the plugin for GPUs, in build/deb
# make image-root         the roots of the containers, in build/images/; `make images` makes the images by buildah
# make compile_commands.json   how each file is compiled, for clangd
# make clean              remove build/; `make clean-all` also removes var/ (database, models)
# make help               this list
.DEFAULT_GOAL := all
VARIANT ?= release
OUT := build/$(VARIANT)

include tools/mk/flags.mk
include tools/mk/cuda.mk
include tools/mk/module.mk
include $(sort $(wildcard shared/*/module.mk gateway/*/module.mk worker/*/module.mk))
include tools/mk/registry.mk
include tools/mk/rules.mk
include tools/mk/plugin.mk
include tools/mk/cuda_plugin.mk
include tools/mk/bundle.mk
include tools/mk/test.mk
include tools/mk/links.mk
include tools/mk/lint.mk
include tools/mk/run.mk
include tools/mk/install.mk
include tools/mk/images.mk
