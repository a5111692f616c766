#include "tests/support/cmocka_all.h"

#include "tests/support/partition_runs.h"
#include "worker/runtime/partition/schedule.h"

typedef struct GradientCase {
    const char *attributes;
    Shape image;
    Shape filter;
    Shape output;
} GradientCase;

#define SHAPE4(a, b, c, d)                                                                                   \
    {                                                                                                        \
        .rank = 4, .dims = { a, b, c, d }                                                                    \
    }

static const GradientCase CASES[] = {
    {"strides=[1,1,1,1] padding='SAME'", SHAPE4(2, 9, 8, 3), SHAPE4(3, 3, 3, 5), SHAPE4(2, 9, 8, 5)},
    {"strides=[1,2,2,1] padding='SAME'", SHAPE4(3, 10, 7, 4), SHAPE4(5, 3, 4, 6), SHAPE4(3, 5, 4, 6)},
    {"strides=[1,3,2,1] padding='VALID'", SHAPE4(1, 11, 12, 2), SHAPE4(2, 3, 2, 4), SHAPE4(1, 4, 5, 4)},
    {"strides=[1,1,1,1] padding='SAME' dilations=[1,2,3,1]", SHAPE4(1, 9, 9, 4), SHAPE4(3, 3, 2, 6),
        SHAPE4(1, 9, 9, 6)},
    {"strides=[1,1,1,1] padding='SAME'", SHAPE4(13, 40, 40, 8), SHAPE4(3, 3, 8, 16), SHAPE4(13, 40, 40, 16)},
};

static Tensor
sizes_of(const Shape *shape)
{
    Tensor sizes;
    Shape vector = shape_vector(shape->rank);
    assert_true(tensor_new(DTYPE_INT32, &vector, &sizes));
    for (int i = 0; i < shape->rank; i++) {
        ((int32_t *)sizes.data)[i] = (int32_t)shape->dims[i];
    }
    return sizes;
}

/* Runs one of the two gradients: input `unknown` of the op is the shape of its output. */
static void
run_gradient(const GradientCase *one, const char *op, int unknown, int thread_count)
{
    RunFixture fixture;
    fixture_begin(&fixture, thread_count);
    char text[1024];
    snprintf(text, sizeof text,
        "x = _Arg() T=%s index=0\n"
        "w = _Arg() T=%s index=1\n"
        "g = _Arg() T=float32 index=2\n"
        "y = %s(x, w, g) T=float32 %s\n"
        "out = _Retval(y) T=float32 index=0\n",
        unknown == 0 ? "int32" : "float32", unknown == 1 ? "int32" : "float32", op, one->attributes);
    AUTO_PARTITION partition = fixture_compile(&fixture, text);
    Tensor inputs[3] = {unknown == 0 ? sizes_of(&one->image) : fixture_numbers(&fixture, &one->image, 1),
        unknown == 1 ? sizes_of(&one->filter) : fixture_numbers(&fixture, &one->filter, 2),
        fixture_numbers(&fixture, &one->output, 3)};
    fixture_expect_reference(&fixture, partition, 3, inputs, 3);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

static void
gradients_agree_with_the_reference_on_any_number_of_threads(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        run_gradient(&CASES[i], "Conv2DBackpropInput", 0, 1 + (int)i % 4);
        run_gradient(&CASES[i], "Conv2DBackpropFilter", 1, 1 + (int)i % 4);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_agree_with_the_reference_on_any_number_of_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
