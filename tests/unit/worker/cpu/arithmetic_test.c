#include "tests/support/cmocka_all.h"

#include "tests/support/partition_runs.h"

/* Each kernel by definition, over what one line of the loops may meet: tails, one scalar, both, a row. */
static float
by_definition(const char *op, float a, float b)
{
    switch (op[0]) {
    case 'A':
        return a + b;
    case 'S':
        return a - b;
    case 'M':
        return a * b;
    default:
        return a / b;
    }
}

static Tensor
values(RunFixture *fixture, const Shape *shape, float first)
{
    int64_t count = 0;
    assert_true(shape_element_count(shape, &count));
    Tensor tensor = fixture_vector(fixture, count, 0);
    tensor.shape = *shape;
    for (int64_t i = 0; i < count; i++) {
        ((float *)tensor.data)[i] = first + (float)(i % 977) * 0.37F;
    }
    return tensor;
}

static void
run_case(RunFixture *fixture, const char *op, const Shape *left, const Shape *right)
{
    char text[256];
    snprintf(text, sizeof text,
        "a = _Arg() T=float32 index=0\nb = _Arg() T=float32 index=1\n"
        "y = %s(a, b) T=float32\nout = _Retval(y) T=float32 index=0\n",
        op);
    AUTO_PARTITION partition = fixture_compile(fixture, text);
    Tensor a = values(fixture, left, 1.1F);
    Tensor b = values(fixture, right, 2.3F);
    for (int shared = 0; shared < 4; shared++) {
        RunOutcome outcome = {0};
        Tensor args[] = {values(fixture, left, 1.1F), values(fixture, right, 2.3F)};
        Tensor held[] = {
            shared & 1 ? tensor_ref(&args[0]) : (Tensor){0}, shared & 2 ? tensor_ref(&args[1]) : (Tensor){0}};
        fixture_run(fixture, partition, NULL, args, 2, &outcome);
        assert_string_equal(outcome.message, "");
        const int64_t count = tensor_element_count(&outcome.outputs[0]);
        const int64_t a_count = tensor_element_count(&a);
        const int64_t b_count = tensor_element_count(&b);
        for (int64_t i = 0; i < count; i++) {
            const float expected =
                by_definition(op, tensor_float(&a, i % a_count), tensor_float(&b, i % b_count));
            assert_memory_equal(&((float *)outcome.outputs[0].data)[i], &expected, sizeof expected);
        }
        tensor_unref(&held[0]);
        tensor_unref(&held[1]);
        outcome_clear(&outcome);
    }
    tensor_unref(&a);
    tensor_unref(&b);
    partition_unref(TAKE(partition));
}

static void
every_form_has_the_bits_of_its_definition(void **state)
{
    (void)state;
    static const char *const ops[] = {"Add", "Sub", "Mul", "RealDiv"};
    static const Shape shapes[][2] = {
        {{.rank = 1, .dims = {13}}, {.rank = 1, .dims = {13}}},
        {{.rank = 0}, {.rank = 0}},
        {{.rank = 2, .dims = {3, 7}}, {.rank = 0}},
        {{.rank = 1, .dims = {1}}, {.rank = 2, .dims = {3, 7}}},
        {{.rank = 2, .dims = {5, 9}}, {.rank = 1, .dims = {9}}},
        {{.rank = 1, .dims = {9}}, {.rank = 2, .dims = {5, 9}}},
        {{.rank = 1, .dims = {150001}}, {.rank = 1, .dims = {150001}}},
    };
    RunFixture fixture;
    fixture_begin(&fixture, 2);
    for (size_t op = 0; op < COUNT_OF(ops); op++) {
        for (size_t i = 0; i < COUNT_OF(shapes); i++) {
            run_case(&fixture, ops[op], &shapes[i][0], &shapes[i][1]);
        }
    }
    fixture_end(&fixture);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_has_the_bits_of_its_definition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
