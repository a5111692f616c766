/* Attention as one node on the CPU: its bits are those of the nodes that it stands for, on any number of
 * threads, and its scores are never whole. */
#include "tests/support/attention_cases.h"
#include "tests/support/cmocka_all.h"

static Tensor
output_on(int threads, const AttentionCase *one, Dtype dtype, bool is_fused)
{
    RunFixture fixture;
    fixture_begin(&fixture, threads);
    Tensor output = attention_case_output(&fixture, one, dtype, is_fused);
    fixture_end(&fixture);
    return output;
}

static void
expect_same_bits(size_t index, Dtype dtype)
{
    AUTO_TENSOR apart = output_on(2, &attention_cases[index], dtype, false);
    for (int threads = 1; threads <= 3; threads++) {
        AUTO_TENSOR fused = output_on(threads, &attention_cases[index], dtype, true);
        if (!tensor_equal(&apart, &fused)) {
            fail_msg("case %zu has other bits in %s on %d threads", index, dtype_name(dtype), threads);
        }
    }
}

static void
one_node_has_the_bits_of_those_that_it_stands_for(void **state)
{
    (void)state;
    for (size_t index = 0; index < attention_case_count; index++) {
        expect_same_bits(index, DTYPE_FLOAT32);
        if (!attention_cases[index].is_large) {
            expect_same_bits(index, DTYPE_FLOAT16);
        }
    }
}

static uint64_t
peak_of(bool is_fused)
{
    static const AttentionCase one = {.transposes_key = true,
        .inputs = {{.rank = 3, .dims = {4, 1024, 8}}, {.rank = 3, .dims = {4, 1024, 8}},
            {.rank = 3, .dims = {4, 1024, 8}}}};
    RunFixture fixture;
    DeviceMemory memory;
    fixture_begin(&fixture, 2);
    AUTO_TENSOR output = attention_case_output(&fixture, &one, DTYPE_FLOAT32, is_fused);
    fixture.device->memory(fixture.device, &memory);
    fixture_end(&fixture);
    return memory.peak;
}

/* Four matrices of 1,024 × 1,024 scores are 16 MiB; two threads hold a block each. */
static void
scores_are_never_whole(void **state)
{
    (void)state;
    uint64_t whole = (uint64_t)4 * 1024 * 1024 * sizeof(float);
    assert_true(peak_of(false) > whole);
    assert_true(peak_of(true) < whole / 2);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_node_has_the_bits_of_those_that_it_stands_for),
        cmocka_unit_test(scores_are_never_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
