/* The passes of gateway and worker on blocks of known networks: each block goes through plan, partition
 * and executor on one thread, as it is written and with all passes. The best of several rounds counts. */
#include <stdio.h>

#include "tests/bench/report.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/partition_runs.h"
#include "tests/support/plan_literals.h"
#include "tests/support/planned_run.h"

enum { ROUNDS = 40 };

typedef struct Row {
    const char *name;
    Shape input;
    const char *graph; /* has the feed x and the fetch r */
} Row;

#define WEIGHTS(name, shape) name " = Const() dtype=float32 value=float32<" shape ">(0.02;-0.03;0.01)\n"
#define CONV(output, input, shape)                                                                           \
    WEIGHTS(output "_w", shape)                                                                              \
    output " = Conv2D(" input ", " output "_w) T=float32 strides=[1,1,1,1] padding='SAME'\n"
#define DEPTHWISE(output, input, shape)                                                                      \
    WEIGHTS(output "_w", shape)                                                                              \
    output " = DepthwiseConv2dNative(" input ", " output "_w) T=float32 strides=[1,1,1,1] padding='SAME'\n"
#define NORM(output, input, channels)                                                                        \
    WEIGHTS(output "_s", channels)                                                                           \
    output "_v = Const() dtype=float32 value=float32<" channels ">(1.5;0.5)\n" output                        \
           " = FusedBatchNormV3(" input ", " output "_s, " output "_s, " output "_s, " output                \
           "_v) T=float32 U=float32 is_training=false epsilon=0.001\n"
#define DENSE(output, input, shape, columns)                                                                 \
    WEIGHTS(output "_w", shape)                                                                              \
    WEIGHTS(output "_b", columns)                                                                            \
    output "_m = MatMul(" input ", " output "_w) T=float32\n" output " = BiasAdd(" output "_m, " output      \
           "_b) T=float32\n"
#define UNARY(output, op, input) output " = " op "(" input ") T=float32\n"
#define BINARY(output, op, left, right) output " = " op "(" left ", " right ") T=float32\n"
#define NUMBER(name, value) name " = Const() dtype=float32 value=float32(" value ")\n"
#define HEADS(output, input)                                                                                 \
    output "_h = Reshape(" input ", heads) T=float32 Tshape=int32\n" output " = Transpose(" output           \
           "_h, heads_first) T=float32 Tperm=int32\n"

static const Row ROWS[] = {
    {"ResNet-50 block 56x56x256", {.rank = 4, .dims = {1, 56, 56, 256}},
        "x = Placeholder() dtype=float32 shape=<1,56,56,256>\n" CONV("a", "x", "1,1,256,64")
            NORM("an", "a", "64") UNARY("ar", "Relu", "an") CONV("b", "ar", "3,3,64,64") NORM("bn", "b", "64")
                UNARY("br", "Relu", "bn") CONV("c", "br", "1,1,64,256") NORM("cn", "c", "256")
                    BINARY("d", "AddV2", "cn", "x") UNARY("r", "Relu", "d")},
    {"MobileNetV2 block 56x56x24", {.rank = 4, .dims = {1, 56, 56, 24}},
        "x = Placeholder() dtype=float32 shape=<1,56,56,24>\n" CONV("a", "x", "1,1,24,144")
            NORM("an", "a", "144") UNARY("ar", "Relu6", "an") DEPTHWISE("b", "ar", "3,3,144,1")
                NORM("bn", "b", "144") UNARY("br", "Relu6", "bn") CONV("c", "br", "1,1,144,24")
                    NORM("cn", "c", "24") BINARY("r", "AddV2", "cn", "x")},
    {"BERT-base feed-forward 128x768", {.rank = 2, .dims = {128, 768}},
        "x = Placeholder() dtype=float32 shape=<128,768>\n" NUMBER("root", "1.41421356") NUMBER("one", "1")
            NUMBER("half", "0.5") DENSE("a", "x", "768,3072", "3072") BINARY("q", "RealDiv", "a", "root")
                UNARY("e", "Erf", "q") BINARY("s", "AddV2", "e", "one") BINARY("h", "Mul", "a", "half")
                    BINARY("g", "Mul", "h", "s") DENSE("b", "g", "3072,768", "768")
                        BINARY("r", "AddV2", "b", "x")},
    /* The mask falls from column to column: exponentials of equal scores would cost nothing. */
    {"BERT-base attention 128x768", {.rank = 2, .dims = {128, 768}},
        "x = Placeholder() dtype=float32 shape=<128,768>\n"
        "heads = Const() dtype=int32 value=int32<4>(1;128;12;64)\n"
        "heads_first = Const() dtype=int32 value=int32<4>(0;2;1;3)\n"
        "whole = Const() dtype=int32 value=int32<2>(128;768)\n" NUMBER("root", "8") NUMBER("zero", "0")
            NUMBER("end", "-128") NUMBER("step", "-1") "mask = Range(zero, end, step) Tidx=float32\n" DENSE(
                "qd", "x", "768,768", "768") HEADS("q", "qd") DENSE("kd", "x", "768,768", "768")
                HEADS("k", "kd") DENSE("vd", "x", "768,768", "768")
                    HEADS("v", "vd") "s = BatchMatMulV2(q, k) T=float32 adj_y=true\n" BINARY(
                        "d", "RealDiv", "s", "root") BINARY("m", "AddV2", "d", "mask")
                        UNARY("w", "Softmax", "m") "y = BatchMatMulV2(w, v) T=float32\n"
                                                   "t = Transpose(y, heads_first) T=float32 Tperm=int32\n"
                                                   "o = Reshape(t, whole) T=float32 Tshape=int32\n" DENSE("b",
                                                       "o", "768,768", "768") BINARY("r", "AddV2", "b", "x")},
};

static double
squares_of(const Tensor *tensor)
{
    double sum = 0;
    for (int64_t index = 0; index < tensor_element_count(tensor); index++) {
        sum += (double)tensor_float(tensor, index) * (double)tensor_float(tensor, index);
    }
    return sum;
}

/* Returns the microseconds of one run. */
static double
measure(RunFixture *fixture, const Row *row, const char *passes, double *ret_squares)
{
    PlanLiteral literal = {.graph = row->graph, .feeds = "x", .fetches = "r", .passes = passes};
    AUTO_PLAN plan = NULL;
    AUTO_PARTITION partition = NULL;
    uint64_t best_ns = UINT64_MAX;
    int64_t count = 0;
    assert_true(shape_element_count(&row->input, &count));
    assert_status(&fixture->call, STATUS_OK, plan_literal(&fixture->call, &literal, &plan));
    assert_status(&fixture->call, STATUS_OK,
        planned_partition(&fixture->call, &plan->partitions[0], fixture_devices(fixture), &partition));
    for (int round = 0; round < ROUNDS; round++) {
        Tensor input = fixture_vector(fixture, count, 0.5F);
        RunOutcome outcome = {0};
        input.shape = row->input;
        fixture_run(fixture, partition, NULL, &input, 1, &outcome);
        assert_string_equal(outcome.message, "");
        *ret_squares = squares_of(&outcome.outputs[0]);
        best_ns = outcome.stats.elapsed_ns < best_ns ? outcome.stats.elapsed_ns : best_ns;
        outcome_clear(&outcome);
    }
    return (double)best_ns / 1000;
}

static void
report(const char *row, const char *what, double value, const char *unit)
{
    char name[96];
    snprintf(name, sizeof name, "%s, %s", row, what);
    report_value(name, value, unit, "");
}

int
main(void)
{
    RunFixture fixture;
    fixture_begin(&fixture, 1);
    for (size_t index = 0; index < COUNT_OF(ROWS); index++) {
        double squares = 0;
        double written = measure(&fixture, &ROWS[index], NULL, &squares);
        double optimised = measure(&fixture, &ROWS[index], "*", &squares);
        report(ROWS[index].name, "as written", written, "us");
        report(ROWS[index].name, "all passes", optimised, "us");
        report(ROWS[index].name, "written to passes", written / optimised, "ratio");
        report(ROWS[index].name, "sum of squares of the result", squares, "");
    }
    fixture_end(&fixture);
    return 0;
}
