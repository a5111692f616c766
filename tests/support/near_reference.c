#include "tests/support/near_reference.h"

#include <math.h>

#include "tests/support/partition_runs.h"
#include "tests/support/reference_run.h"
#include "worker/cpu/vector/isa.h"

/* Makes numbers from -8 to 8 that no two rows share. */
static Tensor
numbers(const Shape *shape)
{
    Tensor tensor = {0};
    assert_true(tensor_new(DTYPE_FLOAT32, shape, &tensor));
    uint32_t state = 12345;
    for (int64_t n = 0; n < tensor_element_count(&tensor); n++) {
        state = state * 1664525 + 1013904223;
        ((float *)tensor.data)[n] = ((float)(state >> 8) * 0x1p-24F - 0.5F) * 16;
    }
    return tensor;
}

/* Runs the node on the CPU device, and in `ret_expected`, unless that is NULL, on the reference kernels. */
static Tensor
run_node(const NearCase *tried, Dtype dtype, int threads, const Tensor *x, Tensor *ret_expected)
{
    RunFixture fixture;
    RunOutcome outcome = {0};
    char text[2048];
    snprintf(text, sizeof text, "x = _Arg() T=float32 index=0\n%s\nout = _Retval(y) T=%s index=0\n",
        tried->node, dtype_name(dtype));
    fixture_begin(&fixture, threads);
    AUTO_PARTITION partition = fixture_compile(&fixture, text);
    (void)fixture_fast_node(partition, "y");
    Tensor args[] = {tensor_ref(x)};
    fixture_run(&fixture, partition, NULL, args, 1, &outcome);
    assert_string_equal(outcome.message, "");
    Tensor output = {0};
    assert_same_bits(&output, &outcome.outputs[0]);
    outcome_clear(&outcome);
    if (ret_expected != NULL) {
        Endpoint fetch = {.node = graph_find(partition->graph, SLICE("y"))->id};
        ReferenceFeed feed = {
            .endpoint = {.node = graph_find(partition->graph, SLICE("x"))->id}, .tensor = *x};
        assert_status(&fixture.call, STATUS_OK,
            reference_run(&fixture.call, partition->graph, &feed, 1, &fetch, 1, ret_expected));
    }
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
    return output;
}

static void
assert_near(const NearCase *tried, const Tensor *computed, const Tensor *expected)
{
    assert_true(shape_equal(&computed->shape, &expected->shape));
    for (int64_t n = 0; n < tensor_element_count(expected); n++) {
        float wanted = tensor_float(expected, n);
        float got = tensor_float(computed, n);
        float scale = fabsf(wanted) > 1 ? fabsf(wanted) : 1;
        bool is_equal = got == wanted || (isnan(got) && isnan(wanted));
        if (!is_equal && !(fabsf(got - wanted) <= tried->error_max * scale)) {
            fail_msg(
                "%s: element %lld is %a, not %a", tried->node, (long long)n, (double)got, (double)wanted);
        }
    }
}

void
assert_near_reference(const NearCase *cases, size_t count)
{
    for (size_t index = 0; index < count; index++) {
        Tensor expected = {0};
        Tensor x = numbers(&cases[index].shape);
        Tensor computed = run_node(&cases[index], DTYPE_FLOAT32, 1, &x, &expected);
        assert_near(&cases[index], &computed, &expected);
        tensor_unref(&computed);
        tensor_unref(&expected);
        tensor_unref(&x);
    }
}

static void
compare_machines(Dtype dtype, const NearCase *cases, size_t count)
{
    static const CpuIsa isas[] = {CPU_ISA_PLAIN, CPU_ISA_AVX2, CPU_ISA_AVX512};
    for (size_t index = 0; index < count; index++) {
        Tensor expected = {0};
        Tensor x = numbers(&cases[index].shape);
        for (size_t isa = 0; isa < COUNT_OF(isas); isa++) {
            cpu_isa_limit(isas[isa]);
            Tensor computed = run_node(&cases[index], dtype, isa == 0 ? 1 : 3, &x, NULL);
            assert_same_bits(&expected, &computed);
            tensor_unref(&computed);
        }
        tensor_unref(&expected);
        tensor_unref(&x);
    }
    cpu_isa_limit(CPU_ISA_AVX512);
}

void
assert_bits_of_all_machines(const NearCase *cases, size_t count)
{
    compare_machines(DTYPE_FLOAT32, cases, count);
}

void
assert_bits_of_reference(Dtype dtype, const NearCase *cases, size_t count)
{
    for (size_t index = 0; index < count; index++) {
        AUTO_TENSOR expected = {0};
        AUTO_TENSOR x = numbers(&cases[index].shape);
        AUTO_TENSOR computed = run_node(&cases[index], dtype, 1, &x, &expected);
        if (!tensor_equal(&computed, &expected)) {
            fail_msg("%s: the bits are not the reference kernel's", cases[index].node);
        }
    }
    compare_machines(dtype, cases, count);
}

void
assert_edges_near_reference(const NearCase *cases, size_t count)
{
    static const float edges[] = {INFINITY, -INFINITY, NAN, 0, -0.0F, 3e38F, 0x1p-149F};
    for (size_t index = 0; index < count; index++) {
        for (size_t edge = 0; edge < COUNT_OF(edges); edge++) {
            Tensor expected = {0};
            Tensor x = numbers(&cases[index].shape);
            int64_t elements = tensor_element_count(&x);
            for (int64_t n = 0; n < elements; n += 1 + elements / 5) {
                ((float *)x.data)[n] = edges[edge];
            }
            Tensor computed = run_node(&cases[index], DTYPE_FLOAT32, 2, &x, &expected);
            assert_near(&cases[index], &computed, &expected);
            tensor_unref(&computed);
            tensor_unref(&expected);
            tensor_unref(&x);
        }
    }
}

void
results_are_near_the_reference_kernels(void **state)
{
    const NearCases *tried = *state;
    assert_near_reference(tried->cases, tried->count);
}

void
bits_depend_neither_on_threads_nor_on_the_instruction_set(void **state)
{
    const NearCases *tried = *state;
    assert_bits_of_all_machines(tried->cases, tried->count);
}

void
infinities_and_nan_are_the_references(void **state)
{
    const NearCases *tried = *state;
    assert_edges_near_reference(tried->cases, tried->count);
}
