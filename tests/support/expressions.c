#include "tests/support/expressions.h"

#include <math.h>

#include "tests/support/cmocka_all.h"
#include "tests/support/graph_literals.h"

static uint64_t
draw(Expression *expression, uint64_t limit)
{
    expression->seed = expression->seed * 6364136223846793005U + 1442695040888963407U;
    return (expression->seed >> 33) % limit;
}

typedef enum Form {
    UNARY,    /* T → T */
    BINARY,   /* T, T → T */
    COMPARE,  /* T, T → bool */
    TERNARY,  /* T, T, T → T */
    CHOICE,   /* bool, T, T → T */
    GATHERED, /* T, T, T → T, as one list */
    CHANGED,  /* T → another */
} Form;

typedef struct Operation {
    const char *op;
    Form form;
} Operation;

static const Operation FLOATS[] = {{"Neg", UNARY}, {"Relu", UNARY}, {"Tanh", UNARY}, {"Exp", UNARY},
    {"Sigmoid", UNARY}, {"Rsqrt", UNARY}, {"LeakyRelu", UNARY}, {"onnx::Gelu", UNARY}, {"Add", BINARY},
    {"Sub", BINARY}, {"Mul", BINARY}, {"RealDiv", BINARY}, {"Maximum", BINARY}, {"SquaredDifference", BINARY},
    {"onnx::Pow", BINARY}, {"ReluGrad", BINARY}, {"Less", COMPARE}, {"Equal", COMPARE},
    {"ClipByValue", TERNARY}, {"SelectV2", CHOICE}, {"onnx::Sum", GATHERED}, {"Cast", CHANGED}};
static const Operation INTEGERS[] = {{"Neg", UNARY}, {"Square", UNARY}, {"Add", BINARY}, {"Mul", BINARY},
    {"FloorDiv", BINARY}, {"FloorMod", BINARY}, {"Minimum", BINARY}, {"Less", COMPARE}, {"Add", BINARY},
    {"Sub", BINARY}, {"BitwiseXor", BINARY}, {"SelectV2", CHOICE}, {"onnx::Max", GATHERED},
    {"Cast", CHANGED}};
static const Operation BOOLS[] = {{"LogicalNot", UNARY}, {"LogicalAnd", BINARY}, {"Equal", COMPARE},
    {"SelectV2", CHOICE}, {"Cast", CHANGED}};
static const Operation COMPLEXES[] = {{"Neg", UNARY}, {"Square", UNARY}, {"Add", BINARY}, {"Mul", BINARY},
    {"Sub", BINARY}, {"RealDiv", BINARY}, {"Equal", COMPARE}, {"SelectV2", CHOICE}, {"Cast", CHANGED}};

static const Dtype DTYPES[] = {DTYPE_FLOAT32, DTYPE_FLOAT64, DTYPE_FLOAT16, DTYPE_BFLOAT16, DTYPE_INT8,
    DTYPE_INT16, DTYPE_INT32, DTYPE_INT64, DTYPE_UINT8, DTYPE_UINT16, DTYPE_UINT32, DTYPE_UINT64, DTYPE_BOOL,
    DTYPE_COMPLEX64, DTYPE_COMPLEX128};

static const Operation *
choose_operation(Expression *expression, Dtype dtype)
{
    if (dtype_is_floating(dtype)) {
        return &FLOATS[draw(expression, COUNT_OF(FLOATS))];
    }
    if (dtype == DTYPE_BOOL) {
        return &BOOLS[draw(expression, COUNT_OF(BOOLS))];
    }
    return dtype_is_integer(dtype) ? &INTEGERS[draw(expression, COUNT_OF(INTEGERS))]
                                   : &COMPLEXES[draw(expression, COUNT_OF(COMPLEXES))];
}

/* Chooses a value of this dtype, mostly among the latest; NULL when there is none. */
static const ExpressionValue *
choose_value(Expression *expression, Dtype dtype)
{
    int first = expression->count > 3 && draw(expression, 4) > 0 ? expression->count - 3 : 0;
    for (int attempt = 0; attempt < 40; attempt++) {
        int from = attempt < 20 ? first : 0;
        const ExpressionValue *value =
            &expression->values[from + (int)draw(expression, (uint64_t)(expression->count - from))];
        if (value->dtype == dtype) {
            return value;
        }
    }
    return NULL;
}

static void
add_operation(Expression *expression)
{
    const ExpressionValue *a = &expression->values[expression->count - 1 - (int)draw(expression, 2)];
    const Operation *operation = choose_operation(expression, a->dtype);
    const ExpressionValue *b = choose_value(expression, a->dtype);
    const ExpressionValue *c = choose_value(expression, a->dtype);
    const ExpressionValue *truth = choose_value(expression, DTYPE_BOOL);
    const char *left = a->name;
    const char *right = b == NULL ? left : b->name;
    const char *third = c == NULL ? left : c->name;
    const char *type = dtype_name(a->dtype);
    ExpressionValue made = {.dtype = a->dtype};
    snprintf(made.name, sizeof made.name, "v%d", expression->count);
    Buffer *text = &expression->text;
    if (operation->form == CHOICE && truth == NULL) {
        return;
    }
    buffer_append_format(text, "%s = %s(", made.name, operation->op);
    switch (operation->form) {
    case UNARY:
        buffer_append_format(text, "%s)", left);
        break;
    case BINARY:
        buffer_append_format(text, "%s, %s)", left, right);
        break;
    case COMPARE:
        made.dtype = DTYPE_BOOL;
        buffer_append_format(text, "%s, %s)", left, right);
        break;
    case TERNARY:
        buffer_append_format(text, "%s, %s, %s)", left, right, third);
        break;
    case CHOICE:
        buffer_append_format(text, "%s, %s, %s)", truth->name, left, right);
        break;
    case GATHERED:
        buffer_append_format(text, "%s, %s, %s) N=3", left, right, third);
        break;
    case CHANGED:
        made.dtype = DTYPES[draw(expression, COUNT_OF(DTYPES))];
        buffer_append_format(text, "%s) SrcT=%s DstT=%s\n", left, type, dtype_name(made.dtype));
        break;
    }
    if (operation->form != CHANGED) {
        bool is_logic = operation->op[0] == 'L' && operation->op[2] == 'g';
        buffer_append_format(text, is_logic ? "\n" : " T=%s\n", type);
    }
    if (operation->op[0] == 'o' && operation->op[6] == 'P') { /* Pow's exponent has a type of its own */
        text->size--;
        buffer_append_format(text, " T1=%s\n", type);
    }
    expression->values[expression->count++] = made;
}

static Shape
choose_shape(Expression *expression, const Shape *whole)
{
    Shape shape = *whole;
    int dropped = draw(expression, 3) == 0 ? (int)draw(expression, (uint64_t)shape.rank + 1) : 0;
    shape.rank -= dropped;
    memmove(shape.dims, shape.dims + dropped, (size_t)shape.rank * sizeof shape.dims[0]);
    for (int dimension = 0; dimension < shape.rank; dimension++) {
        shape.dims[dimension] = draw(expression, 4) == 0 ? 1 : shape.dims[dimension];
    }
    return shape;
}

void
expression_begin(Expression *expression, uint64_t seed, Dtype dtype, const Shape *whole)
{
    *expression = (Expression){.seed = seed};
    for (int feed = 0; feed < EXPRESSION_FEEDS; feed++) {
        ExpressionValue *value = &expression->values[expression->count++];
        value->dtype = feed == EXPRESSION_FEEDS - 1 ? DTYPE_BOOL : dtype;
        snprintf(value->name, sizeof value->name, "x%d", feed);
        expression->dtypes[feed] = value->dtype;
        expression->shapes[feed] = feed == 0 ? *whole : choose_shape(expression, whole);
        buffer_append_format(
            &expression->text, "%s = _Arg() T=%s index=%d\n", value->name, dtype_name(value->dtype), feed);
    }
    expression->count--; /* the boolean is read once something else exists */
    ExpressionValue truth = expression->values[expression->count];
    add_operation(expression);
    expression->values[expression->count++] = truth;
    while (expression->count < EXPRESSION_FEEDS + EXPRESSION_OPERATIONS) {
        add_operation(expression);
    }
    for (int output = 0; output < 2; output++) {
        const ExpressionValue *value = &expression->values[expression->count - 1 - 5 * output];
        buffer_append_format(&expression->text, "out%d = _Retval(%s) T=%s index=%d\n", output, value->name,
            dtype_name(value->dtype), output);
    }
}

/* Zeros, ones, extremes, infinities, NaNs of both signs, and any other bits. */
static void
fill(Expression *expression, Tensor *tensor)
{
    static const double numbers[] = {
        0, -0.0, 1, -1, 0.5, -2.25, 3, 1e-40, INFINITY, -INFINITY, NAN, 65504, 100};
    int64_t count = tensor_element_count(tensor);
    size_t size = dtype_size(tensor->dtype);
    for (int64_t index = 0; index < count; index++) {
        uint64_t bits[2] = {draw(expression, UINT32_MAX) << 32 | draw(expression, UINT32_MAX),
            draw(expression, UINT32_MAX) << 32 | draw(expression, UINT32_MAX)};
        double number = numbers[draw(expression, COUNT_OF(numbers))];
        float narrow = (float)number;
        if (tensor->dtype == DTYPE_BOOL) {
            bits[0] &= 1;
        } else if (draw(expression, 8) > 0 && tensor->dtype == DTYPE_FLOAT32) {
            memcpy(bits, &narrow, sizeof narrow);
        } else if (draw(expression, 8) > 0 && tensor->dtype == DTYPE_FLOAT64) {
            memcpy(bits, &number, sizeof number);
        } else if (dtype_is_integer(tensor->dtype) && draw(expression, 2) > 0) {
            bits[0] = 1 + bits[0] % 9;
        }
        memcpy((char *)tensor->data + (size_t)index * size, bits, size);
    }
}

Partition *
expression_compile(RunFixture *fixture, Expression *expression, bool is_fused)
{
    return fixture_compile_without(
        fixture, buffer_string(&expression->text), is_fused ? NULL : "elementwise_fusion");
}

void
expression_run(RunFixture *fixture, Partition *partition, Expression *expression, RunOutcome *ret_outcome)
{
    uint64_t seed = expression->seed;
    Tensor args[EXPRESSION_FEEDS];
    for (int feed = 0; feed < EXPRESSION_FEEDS; feed++) {
        assert_true(tensor_new(expression->dtypes[feed], &expression->shapes[feed], &args[feed]));
        fill(expression, &args[feed]);
    }
    expression->seed = seed;
    *ret_outcome = (RunOutcome){0};
    fixture_run(fixture, partition, NULL, args, EXPRESSION_FEEDS, ret_outcome);
}

void
expression_end(Expression *expression)
{
    buffer_done(&expression->text);
}

void
expression_expect_same(Expression *expression, const RunOutcome *fused, const RunOutcome *expected)
{
    assert_int_equal(fused->code, expected->code);
    if (expected->code == STATUS_OK) {
        for (int output = 0; output < 2; output++) {
            if (!tensor_equal(&fused->outputs[output], &expected->outputs[output])) {
                fail_msg("output %d differs:\n%s", output, buffer_string(&expression->text));
            }
        }
    } else {
        assert_int_equal(fused->code, STATUS_INVALID_ARGUMENT);
    }
}
