#include "tests/support/attention_cases.h"

#include "shared/base/text.h"
#include "shared/tensor/half.h"
#include "tests/support/cmocka_all.h"

#define SCALAR                                                                                               \
    {                                                                                                        \
        .rank = 0                                                                                            \
    }
#define SHAPE2(a, b)                                                                                         \
    {                                                                                                        \
        .rank = 2, .dims = { a, b }                                                                          \
    }
#define SHAPE3(a, b, c)                                                                                      \
    {                                                                                                        \
        .rank = 3, .dims = { a, b, c }                                                                       \
    }
#define SHAPE4(a, b, c, d)                                                                                   \
    {                                                                                                        \
        .rank = 4, .dims = { a, b, c, d }                                                                    \
    }

/* Blocks of one and of several tiles, tiles that differ between the two products, operands that broadcast and
 * that make the scores more, and products without elements or without terms. */
const AttentionCase attention_cases[] = {
    {true, true, 2, {"Mul", "AddV2"},
        {SHAPE4(2, 3, 128, 64), SHAPE4(2, 3, 128, 64), SHAPE4(2, 3, 128, 64), SCALAR, SHAPE4(2, 1, 1, 128)}},
    {true, false, 1, {"RealDiv"}, {SHAPE3(2, 300, 64), SHAPE3(2, 64, 517), SHAPE3(2, 517, 64), SCALAR}},
    {true, true, 1, {"AddV2"}, {SHAPE3(2, 700, 16), SHAPE3(2, 700, 16), SHAPE3(2, 700, 5), SHAPE2(700, 700)}},
    {false, true, 2, {"Sub", "Mul"},
        {SHAPE3(3, 1, 80), SHAPE3(3, 131, 80), SHAPE3(3, 131, 80), SCALAR, SCALAR}},
    {false, true, 3, {"Mul", "RealDiv", "AddV2"},
        {SHAPE4(2, 1, 17, 5), SHAPE4(2, 1, 300, 5), SHAPE4(2, 1, 300, 3), SCALAR, SHAPE2(17, 1),
            SHAPE3(1, 1, 300)}},
    {false, true, 0, {NULL}, {SHAPE4(2, 3, 7, 1), SHAPE4(1, 3, 11, 1), SHAPE4(2, 1, 11, 2)}},
    {false, true, 1, {"AddV2"}, {SHAPE3(2, 1, 9), SHAPE3(2, 40, 9), SHAPE3(2, 40, 33), SHAPE3(2, 30, 40)}},
    {false, true, 1, {"AddV2"}, {SHAPE3(2, 20, 9), SHAPE3(2, 1, 9), SHAPE3(2, 40, 33), SHAPE3(1, 20, 40)}},
    {false, true, 0, {NULL}, {SHAPE3(2, 3, 0), SHAPE3(2, 4, 0), SHAPE3(2, 4, 5)}},
    {false, true, 0, {NULL}, {SHAPE3(2, 3, 4), SHAPE3(2, 0, 4), SHAPE3(2, 0, 5)}},
    {false, true, 0, {NULL}, {SHAPE3(2, 0, 4), SHAPE3(2, 3, 4), SHAPE3(2, 3, 5)}},
};

const size_t attention_case_count = COUNT_OF(attention_cases);

/* Fractions of both signs, so that another order of a sum shows; what they give stays small. */
static Tensor
make_fractions(RunFixture *fixture, const Shape *shape, Dtype dtype, int seed)
{
    size_t size = 0;
    assert_true(shape_byte_size(shape, dtype, &size));
    TensorBuffer *buffer = fixture->device->allocate(fixture->device, size > 0 ? size : 1);
    assert_non_null(buffer);
    Tensor tensor = {.dtype = dtype, .shape = *shape, .data = buffer->data, .buffer = buffer};
    for (int64_t index = 0; index < tensor_element_count(&tensor); index++) {
        float number = (float)((index * 7919 + (int64_t)seed * 31) % 1009 - 504) / 643.0F;
        if (dtype == DTYPE_FLOAT16) {
            ((uint16_t *)tensor.data)[index] = half_from_float(number);
        } else {
            ((float *)tensor.data)[index] = number;
        }
    }
    return tensor;
}

static const char *
write_args(Call *call, const AttentionCase *one, const char *dtype)
{
    const char *text = "";
    for (int index = 0; index < 3 + one->step_count; index++) {
        text = text_format(call->arena, "%sx%d = _Arg() T=%s index=%d\n", text, index, dtype, index);
    }
    return text;
}

static const char *
write_apart(Call *call, const AttentionCase *one, const char *dtype)
{
    const char *text = text_format(call->arena, "%ss0 = BatchMatMulV2(x0, x1) T=%s adj_y=%s\n",
        write_args(call, one, dtype), dtype, one->transposes_key ? "true" : "false");
    for (int step = 0; step < one->step_count; step++) {
        text = text_format(call->arena, "%ss%d = %s(s%d, x%d) T=%s\n", text, step + 1, one->steps[step], step,
            step + 3, dtype);
    }
    return text_format(call->arena,
        "%sw = Softmax(s%d) T=%s\n"
        "y = BatchMatMulV2(w, x2) T=%s\n"
        "out = _Retval(y) T=%s index=0\n",
        text, one->step_count, dtype, dtype, dtype);
}

static const char *
fused_name(const char *op)
{
    return strcmp(op, "AddV2") == 0 ? "Add" : strcmp(op, "RealDiv") == 0 ? "Div" : op;
}

static const char *
write_fused(Call *call, const AttentionCase *one, const char *dtype)
{
    const char *operands = "";
    const char *names = "";
    for (int step = 0; step < one->step_count; step++) {
        const char *comma = step == 0 ? "" : ",";
        operands = text_format(call->arena, "%s, x%d", operands, step + 3);
        names = text_format(call->arena, "%s%s'%s'", names, comma, fused_name(one->steps[step]));
    }
    return text_format(call->arena,
        "%sy = _FusedAttention(x0, x1, x2%s) T=%s num_args=%d fused_ops=[%s] transpose_key=%s\n"
        "out = _Retval(y) T=%s index=0\n",
        write_args(call, one, dtype), operands, dtype, one->step_count, names,
        one->transposes_key ? "true" : "false", dtype);
}

Tensor
attention_case_output(RunFixture *fixture, const AttentionCase *one, Dtype dtype, bool is_fused)
{
    enum { ROUNDS = 2 };
    const char *name = dtype_name(dtype);
    AUTO_PARTITION partition = fixture_compile(
        fixture, is_fused ? write_fused(&fixture->call, one, name) : write_apart(&fixture->call, one, name));
    uint32_t count = 3 + (uint32_t)one->step_count;
    Tensor output = {0};
    for (int round = 0; round < ROUNDS; round++) {
        Tensor args[ATTENTION_CASE_INPUTS_MAX] = {0};
        RunOutcome outcome = {0};
        for (uint32_t index = 0; index < count; index++) {
            args[index] = make_fractions(fixture, &one->inputs[index], dtype, (int)index + 1);
        }
        fixture_run(fixture, partition, NULL, args, count, &outcome);
        assert_string_equal(outcome.message, "");
        assert_same_bits(&output, &outcome.outputs[0]);
        outcome_clear(&outcome);
    }
    return output;
}
