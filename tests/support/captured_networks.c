#include "tests/support/captured_networks.h"

#include <stdarg.h>

#include "shared/base/atomic.h"
#include "tests/support/cmocka_all.h"

enum { TEXT_SIZE = 8192, NODES = 24, OUTPUTS = 3, ROUNDS = 6, SIDE = 5 };

typedef struct Text {
    char text[TEXT_SIZE];
    size_t size;
} Text;

static void
append(Text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(text->text + text->size, TEXT_SIZE - text->size, format, arguments);
    va_end(arguments);
    assert_true(size > 0 && text->size + (size_t)size < TEXT_SIZE);
    text->size += (size_t)size;
}

/* Returns the next number below `limit` (xorshift). */
static uint32_t
draw(uint32_t *random, uint32_t limit)
{
    *random ^= *random << 13;
    *random ^= *random >> 17;
    *random ^= *random << 5;
    return *random % limit;
}

/* Appends a node of square matrices, which reads one or two of those before it. */
static void
append_node(Text *text, uint32_t *random, uint32_t index)
{
    static const char *const unary[] = {"Neg", "Square", "Tanh", "Relu", "Sigmoid", "Identity"};
    static const char *const binary[] = {"Add", "Sub", "Mul", "Maximum", "MatMul"};
    uint32_t a = draw(random, index);
    uint32_t b = draw(random, index);
    uint32_t kind = draw(random, 8);
    if (kind < 3) {
        append(text, "n%u = %s(n%u) T=float32\n", index, unary[draw(random, COUNT_OF(unary))], a);
    } else if (kind < 7) {
        append(text, "n%u = %s(n%u, n%u) T=float32\n", index, binary[draw(random, COUNT_OF(binary))], a, b);
    } else {
        append(text, "s%u = Shape(n%u) T=float32 out_type=int32\n", index, b);
        append(text, "n%u = Reshape(n%u, s%u) T=float32 Tshape=int32\n", index, a, index);
    }
}

static void
write_network(Text *text, uint32_t seed)
{
    uint32_t random = seed * 2654435761U | 1;
    append(text, "n0 = _Arg() T=float32 index=0\nn1 = _Arg() T=float32 index=1\n");
    for (uint32_t index = 2; index < NODES; index++) {
        append_node(text, &random, index);
    }
    for (uint32_t index = 0; index < OUTPUTS; index++) {
        append(text, "out%u = _Retval(n%u) T=float32 index=%u\n", index, NODES - 1 - index * 4, index);
    }
}

/* Compiles a text without parts, whatever the accelerator can. */
static Partition *
compile_plain(RunFixture *fixture, const char *text)
{
    Captures *captures = TAKE(fixture->accelerator->captures);
    Partition *partition = fixture_compile(fixture, text);
    fixture->accelerator->captures = captures;
    return partition;
}

static void
run_in(RunFixture *fixture, Partition *partition, ResourceContainer *container, Tensor *args,
    uint32_t arg_count, RunOutcome *outcome)
{
    RunRequest request = {.partition = partition,
        .args = args,
        .arg_count = arg_count,
        .container = container,
        .callbacks = outcome_callbacks(outcome)};
    assert_status(&fixture->call, STATUS_OK, run_start(&fixture->call, &request, NULL));
    outcome_wait(outcome);
    assert_string_equal(outcome->message, "");
}

static void
expect_same_outputs(const RunOutcome *plain, const RunOutcome *captured, int count)
{
    for (int i = 0; i < count; i++) {
        assert_true(tensor_equal(&plain->outputs[i], &captured->outputs[i]));
    }
}

static void
compare_network(RunFixture *fixture, uint32_t seed)
{
    Text text = {.size = 0};
    write_network(&text, seed);
    AUTO_PARTITION plain = compile_plain(fixture, text.text);
    AUTO_PARTITION captured = fixture_compile(fixture, text.text);
    for (int round = 0; round < 2 * ROUNDS; round++) {
        int64_t side = round % 2 == 0 ? SIDE : SIDE + 2;
        Shape shape = shape_of_rank(2);
        shape.dims[0] = side;
        shape.dims[1] = side;
        RunOutcome outcomes[2] = {0};
        Partition *partitions[2] = {plain, captured};
        for (int i = 0; i < 2; i++) {
            Tensor args[2] = {
                fixture_numbers(fixture, &shape, round), fixture_numbers(fixture, &shape, round + 3)};
            run_in(fixture, partitions[i], NULL, args, 2, &outcomes[i]);
        }
        expect_same_outputs(&outcomes[0], &outcomes[1], OUTPUTS);
        outcome_clear(&outcomes[0]);
        outcome_clear(&outcomes[1]);
    }
}

void
captured_networks_compare(RunFixture *fixture, uint32_t first_seed, uint32_t count)
{
    uint64_t before = atomic_load_relaxed(&fixture->accelerator->counts.replayed);
    for (uint32_t seed = first_seed; seed < first_seed + count; seed++) {
        compare_network(fixture, seed);
        arena_clear(fixture->call.arena);
    }
    assert_true(atomic_load_relaxed(&fixture->accelerator->counts.replayed) > before + count);
}

#define HANDLE "v = VarHandleOp() dtype=float32 shape=<5,5> container='' shared_name='v'\n"

static const char ASSIGN[] = HANDLE "x = _Arg() T=float32 index=0\n"
                                    "a = AssignVariableOp(v, x) dtype=float32\n"
                                    "out = _Retval(x, ^a) T=float32 index=0\n";

/* The gradient of the squared error of tanh(x v) against t, written out. */
static const char TRAIN[] = HANDLE "x = _Arg() T=float32 index=0\n"
                                   "t = _Arg() T=float32 index=1\n"
                                   "rate = Const() dtype=float32 value=float32(0.0625)\n"
                                   "one = Const() dtype=float32 value=float32(1)\n"
                                   "r = ReadVariableOp(v) dtype=float32\n"
                                   "y = MatMul(x, r) T=float32\n"
                                   "z = Tanh(y) T=float32\n"
                                   "e = Sub(z, t) T=float32\n"
                                   "zz = Square(z) T=float32\n"
                                   "dz = Sub(one, zz) T=float32\n"
                                   "g = Mul(e, dz) T=float32\n"
                                   "gv = MatMul(x, g) T=float32 transpose_a=true\n"
                                   "d = ResourceApplyGradientDescent(v, rate, gv) T=float32\n"
                                   "ee = Square(e) T=float32\n"
                                   "out = _Retval(ee, ^d) T=float32 index=0\n";

static void
assign(RunFixture *fixture, ResourceContainer *container, const Shape *shape)
{
    AUTO_PARTITION partition = compile_plain(fixture, ASSIGN);
    RunOutcome outcome = {0};
    Tensor args[1] = {fixture_numbers(fixture, shape, 4)};
    run_in(fixture, partition, container, args, 1, &outcome);
    outcome_clear(&outcome);
}

void
captured_training_compare(RunFixture *fixture)
{
    enum { STEPS = 12 };
    uint64_t before = atomic_load_relaxed(&fixture->accelerator->counts.replayed);
    Shape shape = shape_of_rank(2);
    shape.dims[0] = SIDE;
    shape.dims[1] = SIDE;
    AUTO_PARTITION plain = compile_plain(fixture, TRAIN);
    AUTO_PARTITION captured = fixture_compile(fixture, TRAIN);
    Partition *partitions[2] = {plain, captured};
    ResourceContainer *containers[2] = {container_new(), container_new()};
    for (int i = 0; i < 2; i++) {
        assert_non_null(containers[i]);
        assign(fixture, containers[i], &shape);
    }
    for (int step = 0; step < STEPS; step++) {
        RunOutcome outcomes[2] = {0};
        for (int i = 0; i < 2; i++) {
            Tensor args[2] = {
                fixture_numbers(fixture, &shape, step), fixture_numbers(fixture, &shape, step + 5)};
            run_in(fixture, partitions[i], containers[i], args, 2, &outcomes[i]);
        }
        expect_same_outputs(&outcomes[0], &outcomes[1], 1);
        outcome_clear(&outcomes[0]);
        outcome_clear(&outcomes[1]);
    }
    container_unref(containers[0]);
    container_unref(containers[1]);
    assert_true(atomic_load_relaxed(&fixture->accelerator->counts.replayed) > before + STEPS / 2);
}
