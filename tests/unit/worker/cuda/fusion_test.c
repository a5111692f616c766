/* Fused kernels on a card, as NVRTC makes them: chains of functions have the bits of the plugin's own kernels
 * one behind the other, and take a fraction of their time. Where a CPU plays the card, it takes no code of
 * NVRTC's; the groups of fusion/groups_test.c are compiled by another compiler there. */
#include <limits.h>

#include "tests/support/cmocka_all.h"
#include "tests/support/cuda_kernels.h"
#include "tests/support/cuda_on_cpu/cuda_bench.h"
#include "worker/cuda/fusion/codes.h"
#include "worker/cuda/fusion/launch.h"

enum { ELEMENTS = 1 << 24, ROUNDS = 20, STEPS = 5, BUFFERS = 2 + STEPS + 1 };

typedef struct Chain {
    const char *name;
    CudaType type;
    size_t size; /* of an element */
    CudaMapFunction functions[STEPS];
} Chain;

/* Each reads what is before it, and the second input if it has two. */
static const Chain chains[] = {
    {"float32", CUDA_FLOAT32, 4,
        {CUDA_MAP_MULTIPLY, CUDA_MAP_ADD, CUDA_MAP_HYPERBOLIC_TANGENT, CUDA_MAP_SIGMOID, CUDA_MAP_GELU}},
    {"float16", CUDA_FLOAT16, 2,
        {CUDA_MAP_MULTIPLY, CUDA_MAP_ADD, CUDA_MAP_EXPONENTIAL, CUDA_MAP_DIVIDE, CUDA_MAP_RELU}},
    {"bfloat16", CUDA_BFLOAT16, 2,
        {CUDA_MAP_SUBTRACT, CUDA_MAP_SQUARE, CUDA_MAP_SQUARE_ROOT, CUDA_MAP_ADD, CUDA_MAP_SOFTPLUS}},
    {"float64", CUDA_FLOAT64, 8,
        {CUDA_MAP_MULTIPLY, CUDA_MAP_ADD, CUDA_MAP_LOGARITHM, CUDA_MAP_ERROR_FUNCTION, CUDA_MAP_ELU}},
    {"int32", CUDA_INT32, 4,
        {CUDA_MAP_MULTIPLY, CUDA_MAP_ADD, CUDA_MAP_ABSOLUTE, CUDA_MAP_SMALLER, CUDA_MAP_BITWISE_XOR}},
};

typedef struct Buffers {
    char *data[BUFFERS]; /* two inputs, what each step gives, what the fused kernel gives */
    cudaStream_t stream;
    cudaEvent_t begun;
    cudaEvent_t ended;
} Buffers;

static void
expect_success(int error)
{
    assert_string_equal(cudaGetErrorString((cudaError_t)error), cudaGetErrorString(cudaSuccess));
}

static void
make_buffers(Buffers *buffers)
{
    for (int index = 0; index < BUFFERS; index++) {
        void *made = NULL;
        expect_success((int)cudaMalloc(&made, ELEMENTS * sizeof(double)));
        buffers->data[index] = made;
    }
    expect_success((int)cudaStreamCreateWithFlags(&buffers->stream, cudaStreamNonBlocking));
    expect_success((int)cudaEventCreateWithFlags(&buffers->begun, cudaEventDefault));
    expect_success((int)cudaEventCreateWithFlags(&buffers->ended, cudaEventDefault));
}

static void
free_buffers(const Buffers *buffers)
{
    for (int index = 0; index < BUFFERS; index++) {
        expect_success((int)cudaFree(buffers->data[index]));
    }
    expect_success((int)cudaStreamDestroy(buffers->stream));
    expect_success((int)cudaEventDestroy(buffers->begun));
    expect_success((int)cudaEventDestroy(buffers->ended));
}

/* Any bits, of all types alike. */
static void
fill_inputs(const Buffers *buffers)
{
    uint64_t *bits = memory_new(ELEMENTS, sizeof *bits);
    uint64_t state = 1;
    assert_non_null(bits);
    for (int input = 0; input < 2; input++) {
        for (size_t index = 0; index < ELEMENTS; index++) {
            state = state * 6364136223846793005U + 1442695040888963407U;
            bits[index] = state ^ state >> 29;
        }
        expect_success(
            (int)cudaMemcpy(buffers->data[input], bits, ELEMENTS * sizeof *bits, cudaMemcpyHostToDevice));
    }
    memory_free(bits);
}

static FusionGroup
group_of(const Chain *chain)
{
    FusionGroup group = {.inputs = {chain->type, chain->type}, .input_count = 2, .step_count = STEPS};
    for (uint32_t step = 0; step < STEPS; step++) {
        group.steps[step] = (FusionStep){.function = chain->functions[step],
            .type = chain->type,
            .operands = {step == 0 ? 0 : step + 1, 1, 0}};
    }
    return group;
}

static void
run_one_by_one(const Chain *chain, const Buffers *buffers)
{
    for (int step = 0; step < STEPS; step++) {
        CudaMap map = {.inputs = {buffers->data[step == 0 ? 0 : step + 1], buffers->data[1]},
            .output = buffers->data[step + 2],
            .count = ELEMENTS,
            .rank = 1,
            .sizes = {ELEMENTS},
            .strides = {{1}, {1}}};
        expect_success(cuda_map(chain->functions[step], chain->type, &map, buffers->stream));
    }
}

static void
run_fused(cudaKernel_t kernel, const Buffers *buffers)
{
    CudaFused fused = {.inputs = {buffers->data[0], buffers->data[1]},
        .output = buffers->data[BUFFERS - 1],
        .count = ELEMENTS,
        .rank = 1,
        .sizes = {ELEMENTS},
        .strides = {{1}, {1}}};
    expect_success(fusion_launch(kernel, &fused, buffers->stream));
}

/* Returns microseconds a round; `kernel` NULL: one by one. */
static double
time_rounds(const Chain *chain, cudaKernel_t kernel, const Buffers *buffers)
{
    float milliseconds = 0;
    for (int round = -1; round < ROUNDS; round++) {
        if (round == 0) {
            expect_success((int)cudaEventRecord(buffers->begun, buffers->stream));
        }
        if (kernel == NULL) {
            run_one_by_one(chain, buffers);
        } else {
            run_fused(kernel, buffers);
        }
    }
    expect_success((int)cudaEventRecord(buffers->ended, buffers->stream));
    expect_success((int)cudaStreamSynchronize(buffers->stream));
    expect_success((int)cudaEventElapsedTime(&milliseconds, buffers->begun, buffers->ended));
    return (double)milliseconds * 1000 / ROUNDS;
}

static void
expect_equal_bits(const Chain *chain, const Buffers *buffers)
{
    size_t size = ELEMENTS * chain->size;
    char *expected = memory_new(2, size);
    assert_non_null(expected);
    expect_success((int)cudaMemcpy(expected, buffers->data[BUFFERS - 2], size, cudaMemcpyDeviceToHost));
    expect_success(
        (int)cudaMemcpy(expected + size, buffers->data[BUFFERS - 1], size, cudaMemcpyDeviceToHost));
    assert_memory_equal(expected, expected + size, size);
    memory_free(expected);
}

static void
try_chain(const Chain *chain, const Buffers *buffers)
{
    FusionGroup group = group_of(chain);
    CudaCode *code = cuda_codes_get(cuda_codes(), &group);
    assert_non_null(code);
    AWAIT(cuda_codes_are_idle(cuda_codes()));
    cudaKernel_t kernel = cuda_code_kernel(cuda_codes(), code);
    assert_non_null(kernel);
    double alone = time_rounds(chain, NULL, buffers);
    double fused = time_rounds(chain, kernel, buffers);
    expect_equal_bits(chain, buffers);
    print_message("fact\tfused chain of %d, %s, %d elements\t%.1f us, one by one %.1f us\n", STEPS,
        chain->name, ELEMENTS, fused, alone);
    cuda_code_unref(code);
}

static void
chains_have_the_bits_of_their_functions_one_by_one(void **state)
{
    (void)state;
    Call call = {.arena = arena_new(MIB)};
    Buffers buffers = {0};
    CudaBench bench =
        cuda_bench_open_with(&call, (PluginOptions){.device = "", .memory = MIB, .fuses = true});
    bool is_played = strcmp(bench.opened.card, "CPU in place of a GPU") == 0;
    if (is_played || cuda_codes() == NULL) {
        print_message("skipped: no %s\n", is_played ? "card" : "NVRTC");
    } else {
        make_buffers(&buffers);
        fill_inputs(&buffers);
        for (size_t index = 0; index < COUNT_OF(chains); index++) {
            try_chain(&chains[index], &buffers);
        }
        free_buffers(&buffers);
    }
    cuda_bench_close(&bench);
    arena_free(call.arena);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chains_have_the_bits_of_their_functions_one_by_one),
    };
    return cmocka_run_group_tests_name("worker/cuda/fusion", tests, NULL, NULL);
}
