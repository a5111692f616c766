#include <math.h>

#include "tests/support/cmocka_all.h"

#include "tests/support/graph_literals.h"
#include "tests/support/partition_runs.h"

enum { FEEDS = 4, OPERATIONS = 24, NAME_SIZE = 16 };

typedef struct Value {
    char name[NAME_SIZE];
    Dtype dtype;
} Value;

/* A random graph of element-wise nodes and its feeds, all of which follow from a seed. */
typedef struct Expression {
    uint64_t seed;
    Buffer text;
    Shape shapes[FEEDS];
    Dtype dtypes[FEEDS];
    Value values[FEEDS + OPERATIONS];
    int count;
} Expression;

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
static const Value *
choose_value(Expression *expression, Dtype dtype)
{
    int first = expression->count > 3 && draw(expression, 4) > 0 ? expression->count - 3 : 0;
    for (int attempt = 0; attempt < 40; attempt++) {
        int from = attempt < 20 ? first : 0;
        const Value *value =
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
    const Value *a = &expression->values[expression->count - 1 - (int)draw(expression, 2)];
    const Operation *operation = choose_operation(expression, a->dtype);
    const Value *b = choose_value(expression, a->dtype);
    const Value *c = choose_value(expression, a->dtype);
    const Value *truth = choose_value(expression, DTYPE_BOOL);
    const char *left = a->name;
    const char *right = b == NULL ? left : b->name;
    const char *third = c == NULL ? left : c->name;
    const char *type = dtype_name(a->dtype);
    Value made = {.dtype = a->dtype};
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

static void
expression_begin(Expression *expression, uint64_t seed, Dtype dtype, const Shape *whole)
{
    *expression = (Expression){.seed = seed};
    for (int feed = 0; feed < FEEDS; feed++) {
        Value *value = &expression->values[expression->count++];
        value->dtype = feed == FEEDS - 1 ? DTYPE_BOOL : dtype;
        snprintf(value->name, sizeof value->name, "x%d", feed);
        expression->dtypes[feed] = value->dtype;
        expression->shapes[feed] = feed == 0 ? *whole : choose_shape(expression, whole);
        buffer_append_format(
            &expression->text, "%s = _Arg() T=%s index=%d\n", value->name, dtype_name(value->dtype), feed);
    }
    expression->count--; /* the boolean is read once something else exists */
    Value truth = expression->values[expression->count];
    add_operation(expression);
    expression->values[expression->count++] = truth;
    while (expression->count < FEEDS + OPERATIONS) {
        add_operation(expression);
    }
    for (int output = 0; output < 2; output++) {
        const Value *value = &expression->values[expression->count - 1 - 5 * output];
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

static void
run(RunFixture *fixture, Expression *expression, bool is_fused, RunOutcome *ret_outcome)
{
    Partition *partition = fixture_compile_without(
        fixture, buffer_string(&expression->text), is_fused ? NULL : "elementwise_fusion");
    uint64_t seed = expression->seed;
    Tensor args[FEEDS];
    for (int feed = 0; feed < FEEDS; feed++) {
        assert_true(tensor_new(expression->dtypes[feed], &expression->shapes[feed], &args[feed]));
        fill(expression, &args[feed]);
    }
    expression->seed = seed;
    *ret_outcome = (RunOutcome){0};
    fixture_run(fixture, partition, NULL, args, FEEDS, ret_outcome);
    partition_unref(partition);
}

static void
expect_same(Expression *expression, const RunOutcome *fused, const RunOutcome *expected)
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

static void
try_expressions(int threads, const Shape *whole, uint64_t seeds)
{
    RunFixture fixture;
    fixture_begin(&fixture, threads);
    for (size_t dtype = 0; dtype < COUNT_OF(DTYPES); dtype++) {
        for (uint64_t seed = 1; seed <= seeds; seed++) {
            Expression expression;
            RunOutcome fused;
            RunOutcome expected;
            expression_begin(&expression, seed * 977 + dtype, DTYPES[dtype], whole);
            run(&fixture, &expression, true, &fused);
            run(&fixture, &expression, false, &expected);
            expect_same(&expression, &fused, &expected);
            outcome_clear(&fused);
            outcome_clear(&expected);
            buffer_done(&expression.text);
        }
    }
    fixture_end(&fixture);
}

static void
small_expressions_keep_their_bits(void **state)
{
    (void)state;
    try_expressions(1, &(Shape){.rank = 3, .dims = {3, 5, 7}}, 24);
    try_expressions(2, &(Shape){.rank = 0}, 4);
    try_expressions(2, &(Shape){.rank = 2, .dims = {4, 0}}, 4);
}

static void
large_expressions_keep_their_bits_on_any_threads(void **state)
{
    (void)state;
    Shape shape = {.rank = 3, .dims = {13, 41, 67}};
    for (int threads = 1; threads <= 4; threads *= 2) {
        try_expressions(threads, &shape, 1);
    }
}

static void
a_failure_names_the_node_that_the_author_wrote(void **state)
{
    (void)state;
    RunFixture fixture;
    RunOutcome outcome = {0};
    fixture_begin(&fixture, 1);
    Partition *partition = fixture_compile(&fixture,
        "x = _Arg() T=int32 index=0\ny = _Arg() T=int32 index=1\n"
        "sum = Add(x, x) T=int32\nquotient = FloorDiv(sum, y) T=int32\nresult = Neg(quotient) T=int32\n"
        "out = _Retval(result) T=int32 index=0\n");
    Tensor args[2];
    for (int index = 0; index < 2; index++) {
        assert_true(tensor_new(DTYPE_INT32, &(Shape){.rank = 1, .dims = {2}}, &args[index]));
        memset(args[index].data, 0, tensor_byte_size(&args[index]));
    }
    fixture_run(&fixture, partition, NULL, args, 2, &outcome);
    assert_int_equal(outcome.code, STATUS_INVALID_ARGUMENT);
    assert_string_equal(outcome.node, "quotient");
    assert_non_null(strstr(outcome.message, "element 0 of the second input is 0"));
    partition_unref(partition);
    outcome_clear(&outcome);
    fixture_end(&fixture);
}

static void
shapes_that_do_not_fit_are_told_of_the_node_that_meets_them(void **state)
{
    (void)state;
    RunFixture fixture;
    RunOutcome outcome = {0};
    fixture_begin(&fixture, 1);
    Partition *partition = fixture_compile(&fixture,
        "x = _Arg() T=float32 index=0\ny = _Arg() T=float32 index=1\n"
        "sum = Add(x, y) T=float32\nresult = Neg(sum) T=float32\nout = _Retval(result) T=float32 index=0\n");
    Tensor args[] = {fixture_vector(&fixture, 2, 1), fixture_vector(&fixture, 3, 1)};
    fixture_run(&fixture, partition, NULL, args, 2, &outcome);
    assert_int_equal(outcome.code, STATUS_INVALID_ARGUMENT);
    assert_string_equal(outcome.node, "sum");
    partition_unref(partition);
    outcome_clear(&outcome);
    fixture_end(&fixture);
}

/* The sum is fused with its product by a value that may be dead, and can fail by itself. */
static void
a_failure_beside_a_dead_input_is_told(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 1);
    Partition *partition =
        fixture_compile(&fixture, "x = _Arg() T=float32 index=0\ny = _Arg() T=float32 index=1\n"
                                  "never = Const() dtype=bool value=bool(0)\n"
                                  "taken = Switch(x, never) T=float32\n"
                                  "sum = Add(x, y) T=float32\nproduct = Mul(sum, taken:1) T=float32\n"
                                  "result = Merge(product, taken:0) T=float32 N=2\n"
                                  "out = _Retval(result) T=float32 index=0\n");
    for (int64_t size = 2; size <= 3; size++) {
        RunOutcome outcome = {0};
        Tensor args[] = {fixture_vector(&fixture, 2, 1), fixture_vector(&fixture, size, 1)};
        fixture_run(&fixture, partition, NULL, args, 2, &outcome);
        assert_int_equal(outcome.code, size == 2 ? STATUS_OK : STATUS_INVALID_ARGUMENT);
        assert_string_equal(outcome.node, size == 2 ? "" : "sum");
        outcome_clear(&outcome);
    }
    assert_int_equal(fixture_memory_in_use(&fixture), 0);
    partition_unref(partition);
    fixture_end(&fixture);
}

static void
a_fused_node_tells_whom_it_computes(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 1);
    Partition *partition = fixture_compile(&fixture,
        "x = _Arg() T=float32 index=0\nn = Neg(x) T=float32\nr = Relu(n) T=float32\n"
        "out = _Retval(r) T=float32 index=0\n");
    assert_true(slice_equals_string(partition_node(partition, 2).op, "_Fused(n: Neg, r: Relu)"));
    assert_true(slice_equals_string(partition_node(partition, 2).name, "r"));
    partition_unref(partition);
    fixture_end(&fixture);
}

/* More combinations of shapes than are kept, each as often as the others. */
static void
every_combination_of_shapes_is_computed_right(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 1);
    Partition *partition = fixture_compile(&fixture,
        "x = _Arg() T=float32 index=0\nn = Neg(x) T=float32\nr = Add(n, x) T=float32\n"
        "out = _Retval(r) T=float32 index=0\n");
    for (int64_t size = 1; size <= 24; size++) {
        RunOutcome outcome = {0};
        Tensor arg = fixture_vector(&fixture, 1 + size % 8, 3);
        fixture_run(&fixture, partition, NULL, &arg, 1, &outcome);
        assert_string_equal(outcome.message, "");
        assert_int_equal(tensor_element_count(&outcome.outputs[0]), 1 + size % 8);
        assert_float_equal(tensor_float(&outcome.outputs[0], size % 8), 0, 0);
        outcome_clear(&outcome);
    }
    partition_unref(partition);
    fixture_end(&fixture);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_expressions_keep_their_bits),
        cmocka_unit_test(large_expressions_keep_their_bits_on_any_threads),
        cmocka_unit_test(a_failure_names_the_node_that_the_author_wrote),
        cmocka_unit_test(shapes_that_do_not_fit_are_told_of_the_node_that_meets_them),
        cmocka_unit_test(a_failure_beside_a_dead_input_is_told),
        cmocka_unit_test(a_fused_node_tells_whom_it_computes),
        cmocka_unit_test(every_combination_of_shapes_is_computed_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
