/* Groups of nodes on a card that is none (tests/support/cuda_on_cpu), computed by kernels that this machine's
 * C++ compiler makes in NVRTC's place: the bits are those of single nodes, before such a kernel is there,
 * with it, and without. */
#include <dirent.h>
#include <unistd.h>

#include "shared/base/atomic.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/cuda_on_cpu/cuda_bench.h"
#include "tests/support/expressions.h"
#include "tests/support/fake_nvrtc.h"
#include "worker/cuda/fusion/codes.h"
#include "worker/runtime/captures.h"

extern const KernelFamily *const cuda_kernels_table[];
extern const size_t cuda_kernels_table_count;

static const CudaNvrtc *table = &fake_nvrtc_table;

/* The module's functions, in place of its own. */
void
cuda_libraries_open(const char *folders)
{
    (void)folders;
}

const PluginLibrary *
cuda_libraries(size_t *ret_count)
{
    *ret_count = 0;
    return NULL;
}

const CudaBlas *
cuda_blas(void)
{
    return NULL;
}

const CudaDnn *
cuda_dnn(void)
{
    return NULL;
}

const CudaCupti *
cuda_cupti(const char **ret_reason)
{
    *ret_reason = "none is played";
    return NULL;
}

const CudaNvrtc *
cuda_nvrtc(void)
{
    return table;
}

static PluginDevice opened;

static void
begin(RunFixture *fixture, const char *folder)
{
    fixture_begin(fixture, 3);
    PluginOptions options = {.host = fixture->device,
        .device = "",
        .memory = 16 * MIB,
        .pinned_memory = 1,
        .libraries = "",
        .fuses = true,
        .code_folder = folder};
    assert_status(&fixture->call, STATUS_OK, cuda_device_open(&fixture->call, &options, &opened));
    assert_status(&fixture->call, STATUS_OK,
        kernel_register(&fixture->call, "GPU", cuda_kernels_table, cuda_kernels_table_count));
    fixture->accelerator = opened.device;
}

static void
end(RunFixture *fixture)
{
    AWAIT(fixture_memory_in_use(fixture) == 0);
    kernel_unregister("GPU");
    captures_free(TAKE(opened.device->captures));
    cuda_device_close(&opened);
    fixture->accelerator = NULL;
    fixture_end(fixture);
    cuda_on_cpu_reset(true);
}

static int
reset(void **state)
{
    (void)state;
    fake_nvrtc = (FakeNvrtc){0};
    table = &fake_nvrtc_table;
    return 0;
}

static uint64_t
count_of(DeviceCode event)
{
    return atomic_load_relaxed(&opened.device->counts.code[event]);
}

static void
await_codes(void)
{
    while (!cuda_codes_are_idle(cuda_codes())) {
        uint64_t compiled = count_of(DEVICE_CODE_COMPILED);
        AWAIT(cuda_codes_are_idle(cuda_codes()) || count_of(DEVICE_CODE_COMPILED) > compiled);
    }
}

static const char chain[] = "x = _Arg() T=float32 index=0\n"
                            "y = _Arg() T=float32 index=1\n"
                            "a = Mul(x, y) T=float32\n"
                            "b = Add(a, x) T=float32\n"
                            "c = Tanh(b) T=float32\n"
                            "d = LeakyRelu(c) T=float32 alpha=0.3\n"
                            "out = _Retval(d) T=float32 index=0\n";

/* Runs the chain on values of these shapes. Returns how many kernels the card was given. */
static uint64_t
run_chain(
    RunFixture *fixture, Partition *partition, const Shape *first, const Shape *second, Tensor *expected)
{
    RunOutcome outcome = {0};
    Tensor args[2] = {fixture_numbers(fixture, first, 1), fixture_numbers(fixture, second, 2)};
    uint64_t before = cuda_on_cpu_calls("launch");
    fixture_run(fixture, partition, NULL, args, 2, &outcome);
    assert_string_equal(outcome.message, "");
    assert_same_bits(expected, &outcome.outputs[0]);
    outcome_clear(&outcome);
    return cuda_on_cpu_calls("launch") - before;
}

static const Shape line = {.rank = 1, .dims = {1000}};
static const Shape matrix = {.rank = 2, .dims = {20, 1000}};

/* Fills in the bits of the chain's nodes, each computed by itself. */
static void
run_unfused(RunFixture *fixture, const Shape *first, const Shape *second, Tensor *ret_expected)
{
    Partition *partition = fixture_compile_without(fixture, chain, "elementwise_fusion");
    assert_int_equal(run_chain(fixture, partition, first, second, ret_expected), 4);
    partition_unref(partition);
}

static void
a_group_is_one_kernel_once_that_is_compiled_and_its_nodes_until_then(void **state)
{
    (void)state;
    RunFixture fixture;
    AUTO_TENSOR plain = {0};
    AUTO_TENSOR broadcast = {0};
    begin(&fixture, NULL);
    run_unfused(&fixture, &line, &line, &plain);
    run_unfused(&fixture, &line, &matrix, &broadcast);
    atomic_store_release(&fake_nvrtc.waits, 1);
    Partition *partition = fixture_compile(&fixture, chain);
    assert_int_equal(run_chain(&fixture, partition, &line, &line, &plain), 4);
    assert_int_equal(run_chain(&fixture, partition, &line, &matrix, &broadcast), 4);
    atomic_store_release(&fake_nvrtc.waits, 0);
    await_codes();
    assert_int_equal(run_chain(&fixture, partition, &line, &line, &plain), 1);
    assert_int_equal(run_chain(&fixture, partition, &line, &matrix, &broadcast), 1);
    assert_int_equal(count_of(DEVICE_CODE_COMPILED), 2); /* the functions to be compared, and the group */
    assert_int_equal(count_of(DEVICE_CODE_FAILED), 0);
    partition_unref(partition);
    end(&fixture);
}

/* Nodes that commonly follow a product in a network: a bias, limits, a choice, a power, a conversion and
 * back. */
static const char mixed[] = "x = _Arg() T=float32 index=0\n"
                            "y = _Arg() T=float32 index=1\n"
                            "low = Const() dtype=float32 value=float32(-0.5)\n"
                            "high = Const() dtype=float32 value=float32(0.75)\n"
                            "a = Neg(x) T=float32\n"
                            "b = BiasAdd(a, y) T=float32\n"
                            "c = onnx::Clip(b, low, high) T=float32\n"
                            "d = Less(c, x) T=float32\n"
                            "e = SelectV2(d, b, c) T=float32\n"
                            "f = Cast(e) SrcT=float32 DstT=float16\n"
                            "g = Cast(f) SrcT=float16 DstT=float32\n"
                            "h = onnx::Pow(g, x) T=float32 T1=float32\n"
                            "out = _Retval(h) T=float32 index=0\n";
enum { MIXED_NODES = 8 };

static void
biases_limits_choices_and_conversions_join(void **state)
{
    (void)state;
    RunFixture fixture;
    AUTO_TENSOR expected = {0};
    begin(&fixture, NULL);
    Partition *apart = fixture_compile_without(&fixture, mixed, "elementwise_fusion");
    assert_int_equal(run_chain(&fixture, apart, &matrix, &line, &expected), MIXED_NODES);
    partition_unref(apart);
    Partition *partition = fixture_compile(&fixture, mixed);
    await_codes();
    assert_int_equal(run_chain(&fixture, partition, &matrix, &line, &expected), 1);
    assert_int_equal(count_of(DEVICE_CODE_FAILED), 0);
    partition_unref(partition);
    end(&fixture);
}

/* A bias that only broadcasts, as a sum's operand may, is refused in a group as it is alone. */
static void
a_bias_that_does_not_fit_is_refused_in_a_group_too(void **state)
{
    (void)state;
    static const Shape column = {.rank = 2, .dims = {20, 1}};
    RunFixture fixture;
    RunOutcome outcome = {0};
    begin(&fixture, NULL);
    Partition *partition = fixture_compile(&fixture, mixed);
    await_codes();
    Tensor args[2] = {fixture_numbers(&fixture, &column, 1), fixture_numbers(&fixture, &line, 2)};
    fixture_run(&fixture, partition, NULL, args, 2, &outcome);
    assert_int_equal(outcome.code, STATUS_INVALID_ARGUMENT);
    outcome_clear(&outcome);
    partition_unref(partition);
    end(&fixture);
}

static void
equal_groups_share_a_kernel(void **state)
{
    (void)state;
    RunFixture fixture;
    AUTO_TENSOR expected = {0};
    begin(&fixture, NULL);
    Partition *first = fixture_compile(&fixture, chain);
    await_codes();
    uint64_t compiled = count_of(DEVICE_CODE_COMPILED);
    Partition *second = fixture_compile(&fixture, chain);
    assert_true(cuda_codes_are_idle(cuda_codes()));
    assert_int_equal(run_chain(&fixture, first, &line, &line, &expected), 1);
    partition_unref(first);
    assert_int_equal(run_chain(&fixture, second, &line, &line, &expected), 1);
    assert_int_equal(count_of(DEVICE_CODE_COMPILED), compiled);
    assert_int_equal(count_of(DEVICE_CODE_FOUND), 1);
    partition_unref(second);
    end(&fixture);
}

static void
what_cannot_be_compiled_is_computed_node_by_node(void **state)
{
    (void)state;
    RunFixture fixture;
    AUTO_TENSOR expected = {0};
    begin(&fixture, NULL);
    run_unfused(&fixture, &line, &line, &expected);
    atomic_store_release(&fake_nvrtc.fails, 1);
    Partition *partition = fixture_compile(&fixture, chain);
    await_codes();
    assert_int_equal(count_of(DEVICE_CODE_FAILED), 1);
    assert_int_equal(run_chain(&fixture, partition, &line, &line, &expected), 4);
    partition_unref(partition);
    end(&fixture);
}

static void
without_nvrtc_nothing_is_fused(void **state)
{
    (void)state;
    RunFixture fixture;
    AUTO_TENSOR expected = {0};
    table = NULL;
    begin(&fixture, NULL);
    assert_null(cuda_codes());
    Partition *partition = fixture_compile(&fixture, chain);
    assert_int_equal(run_chain(&fixture, partition, &line, &line, &expected), 4);
    partition_unref(partition);
    end(&fixture);
}

/* A product that is off by one bit: it is found, and no kernel is used, those of other functions neither. */
static void
a_function_with_other_bits_switches_fusion_off(void **state)
{
    (void)state;
    RunFixture fixture;
    AUTO_TENSOR expected = {0};
    begin(&fixture, NULL);
    run_unfused(&fixture, &line, &line, &expected);
    Partition *good = fixture_compile(&fixture, "x = _Arg() T=float32 index=0\n"
                                                "a = Neg(x) T=float32\n"
                                                "b = Square(a) T=float32\n"
                                                "out = _Retval(b) T=float32 index=0\n");
    await_codes();
    fake_nvrtc.replace = "X(MULTIPLY, 2, (a * b), (a * b))";
    fake_nvrtc.by = "X(MULTIPLY, 2, (a * b * NUMBER(1.0000002)), (a * b))";
    Partition *partition = fixture_compile(&fixture, chain);
    await_codes();
    assert_int_equal(run_chain(&fixture, partition, &line, &line, &expected), 4);
    Partition *later = fixture_compile(&fixture, chain);
    assert_true(cuda_codes_are_idle(cuda_codes()));
    RunOutcome outcome = {0};
    Tensor args[1] = {fixture_numbers(&fixture, &line, 1)};
    uint64_t before = cuda_on_cpu_calls("launch");
    fixture_run(&fixture, good, NULL, args, 1, &outcome);
    assert_int_equal(cuda_on_cpu_calls("launch") - before, 2);
    outcome_clear(&outcome);
    partition_unref(good);
    partition_unref(partition);
    partition_unref(later);
    end(&fixture);
}

/* Empties a folder and removes it. Returns how many files it had. */
static int
remove_folder(const char *folder)
{
    int count = 0;
    DIR *files = opendir(folder);
    assert_non_null(files);
    for (struct dirent *file = readdir(files); file != NULL; file = readdir(files)) {
        count += unlinkat(dirfd(files), file->d_name, 0) == 0;
    }
    (void)closedir(files);
    assert_int_equal(rmdir(folder), 0);
    return count;
}

/* Overwrites the last byte of every file. */
static void
damage_folder(const char *folder)
{
    DIR *files = opendir(folder);
    assert_non_null(files);
    for (struct dirent *entry = readdir(files); entry != NULL; entry = readdir(files)) {
        char path[512];
        (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        FILE *file = entry->d_name[0] == '.' ? NULL : fopen(path, "r+");
        if (file != NULL) {
            assert_int_equal(fseek(file, -1, SEEK_END), 0);
            (void)fputc('?', file);
            assert_int_equal(fclose(file), 0);
        }
    }
    (void)closedir(files);
}

/* Opens a card that keeps its code in the folder, and runs the chain as one kernel. Returns how many were
 * compiled. */
static uint64_t
run_with_folder(const char *folder, Tensor *expected)
{
    RunFixture fixture;
    begin(&fixture, folder);
    Partition *partition = fixture_compile(&fixture, chain);
    await_codes();
    assert_int_equal(run_chain(&fixture, partition, &line, &line, expected), 1);
    uint64_t compiled = count_of(DEVICE_CODE_COMPILED);
    partition_unref(partition);
    end(&fixture);
    return compiled;
}

static void
code_and_comparisons_are_found_again_in_the_folder(void **state)
{
    (void)state;
    AUTO_TENSOR expected = {0};
    char folder[] = "/tmp/fusion_cache.XXXXXX";
    assert_non_null(mkdtemp(folder));
    assert_int_equal(run_with_folder(folder, &expected), 2);
    assert_int_equal(run_with_folder(folder, &expected), 0);
    damage_folder(folder);
    assert_int_equal(run_with_folder(folder, &expected), 2);
    assert_int_equal(run_with_folder(folder, &expected), 0);
    assert_int_equal(remove_folder(folder), 6); /* two files of code, and what four comparisons said */
}

static void
what_was_captured_node_by_node_is_captured_anew_with_the_kernel(void **state)
{
    (void)state;
    RunFixture fixture;
    AUTO_TENSOR expected = {0};
    begin(&fixture, NULL);
    accelerator_capture(opened.device);
    atomic_store_release(&fake_nvrtc.waits, 1);
    Partition *partition = fixture_compile(&fixture, chain);
    for (int run = 0; run < 5; run++) {
        (void)run_chain(&fixture, partition, &line, &line, &expected);
    }
    assert_int_equal(atomic_load_relaxed(&opened.device->counts.captured), 1);
    uint64_t replayed = atomic_load_relaxed(&opened.device->counts.replayed);
    assert_true(replayed >= 2);
    atomic_store_release(&fake_nvrtc.waits, 0);
    await_codes();
    for (int run = 0; run < 5; run++) {
        (void)run_chain(&fixture, partition, &line, &line, &expected);
    }
    assert_int_equal(atomic_load_relaxed(&opened.device->counts.captured), 2);
    assert_true(atomic_load_relaxed(&opened.device->counts.replayed) >= replayed + 2);
    for (int reason = 0; reason < CAPTURE_REFUSALS; reason++) {
        assert_int_equal(atomic_load_relaxed(&opened.device->counts.uncaptured[reason]), 0);
    }
    partition_unref(partition);
    end(&fixture);
}

static void
shapes_that_do_not_fit_are_told_of_the_node_that_meets_them(void **state)
{
    (void)state;
    RunFixture fixture;
    RunOutcome outcome = {0};
    begin(&fixture, NULL);
    Partition *partition = fixture_compile(&fixture, chain);
    await_codes();
    Tensor args[] = {fixture_vector(&fixture, 2, 1), fixture_vector(&fixture, 3, 1)};
    fixture_run(&fixture, partition, NULL, args, 2, &outcome);
    assert_int_equal(outcome.code, STATUS_INVALID_ARGUMENT);
    assert_string_equal(outcome.node, "a");
    outcome_clear(&outcome);
    partition_unref(partition);
    end(&fixture);
}

/* Runs a random graph unfused, then fused with its kernels. */
static void
try_expression(RunFixture *fixture, uint64_t seed, Dtype dtype, const Shape *whole)
{
    Expression expression;
    RunOutcome expected;
    RunOutcome fused;
    expression_begin(&expression, seed, dtype, whole);
    Partition *plain = expression_compile(fixture, &expression, false);
    Partition *grouped = expression_compile(fixture, &expression, true);
    expression_run(fixture, plain, &expression, &expected);
    await_codes();
    expression_run(fixture, grouped, &expression, &fused);
    expression_expect_same(&expression, &fused, &expected);
    outcome_clear(&expected);
    outcome_clear(&fused);
    partition_unref(plain);
    partition_unref(grouped);
    expression_end(&expression);
}

static void
random_groups_keep_their_bits(void **state)
{
    (void)state;
    static const Dtype dtypes[] = {
        DTYPE_FLOAT32, DTYPE_FLOAT64, DTYPE_FLOAT16, DTYPE_BFLOAT16, DTYPE_INT32, DTYPE_UINT8};
    static const Shape whole = {.rank = 3, .dims = {3, 5, 7}};
    RunFixture fixture;
    begin(&fixture, NULL);
    for (size_t index = 0; index < COUNT_OF(dtypes); index++) {
        try_expression(&fixture, 977 + index, dtypes[index], &whole);
    }
    assert_true(count_of(DEVICE_CODE_COMPILED) > COUNT_OF(dtypes));
    assert_int_equal(count_of(DEVICE_CODE_FAILED), 0);
    Partition *partition = fixture_compile(&fixture, chain); /* nothing was switched off */
    await_codes();
    AUTO_TENSOR expected = {0};
    assert_int_equal(run_chain(&fixture, partition, &line, &line, &expected), 1);
    partition_unref(partition);
    end(&fixture);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_group_is_one_kernel_once_that_is_compiled_and_its_nodes_until_then, reset),
        cmocka_unit_test_setup(biases_limits_choices_and_conversions_join, reset),
        cmocka_unit_test_setup(a_bias_that_does_not_fit_is_refused_in_a_group_too, reset),
        cmocka_unit_test_setup(equal_groups_share_a_kernel, reset),
        cmocka_unit_test_setup(what_cannot_be_compiled_is_computed_node_by_node, reset),
        cmocka_unit_test_setup(without_nvrtc_nothing_is_fused, reset),
        cmocka_unit_test_setup(a_function_with_other_bits_switches_fusion_off, reset),
        cmocka_unit_test_setup(code_and_comparisons_are_found_again_in_the_folder, reset),
        cmocka_unit_test_setup(what_was_captured_node_by_node_is_captured_anew_with_the_kernel, reset),
        cmocka_unit_test_setup(shapes_that_do_not_fit_are_told_of_the_node_that_meets_them, reset),
        cmocka_unit_test_setup(random_groups_keep_their_bits, reset),
    };
    if (!fake_nvrtc_can_compile()) {
        print_message("skipped: no C++ compiler\n");
        return 0;
    }
    return cmocka_run_group_tests_name("worker/cuda/fusion/groups", tests, NULL, NULL);
}
