/* Attention as one op. With equal keys all weights are equal: the output is the mean of the values. */
#include "tests/support/cmocka_all.h"
#include "tests/support/op_case.h"

#define RUN(cases) op_cases_run(cases, COUNT_OF(cases))

/* The scores of two queries are 0 and ln 3, and 0 and 0: the weights are ¼ and ¾, and ½ and ½. */
#define QUERIES "float32[1,2,1] 1.0986123 0"
#define KEYS "float32[1,2,1] 0 1"
#define VALUES "float32[1,2,2] 4 8 0 16"

static void
values_are_weighed_by_the_softmax_of_scores(void **state)
{
    (void)state;
    static const OpCase cases[] = {
        {.op = "_FusedAttention",
            .attrs = "transpose_key=true; num_args=0",
            .inputs = {QUERIES, KEYS, VALUES},
            .outputs = {"float32[1,2,2] 1 14 2 12"}},
        {.op = "_FusedAttention",
            .attrs = "num_args=0",
            .inputs = {"float32[1,2,1] 1.0986123 0", "float32[1,1,2] 0 1", VALUES},
            .outputs = {"float32[1,2,2] 1 14 2 12"}},
        {.op = "_FusedAttention",
            .attrs = "transpose_key=true; num_args=0",
            .inputs = {"float16[1,1,2] 0 0", "float16[1,3,2] 1 2 3 4 5 6", "float16[1,3,1] 1 2 6"},
            .outputs = {"float16[1,1,1] 3"}},
        {.op = "_FusedAttention",
            .attrs = "transpose_key=true; num_args=0",
            .inputs = {"bfloat16[1,1,1] 0", "bfloat16[1,2,1] 1 2", "bfloat16[1,2,1] 1 3"},
            .outputs = {"bfloat16[1,1,1] 2"}},
        {.op = "_FusedAttention",
            .attrs = "transpose_key=true; num_args=0",
            .inputs = {"float64[1,1] 0", "float64[2,1] 1 2", "float64[2,1] 1 3"},
            .outputs = {"float64[1,1] 2"}},
    };
    RUN(cases);
}

static void
steps_change_the_scores_in_their_order(void **state)
{
    (void)state;
    static const OpCase cases[] = {
        {.op = "_FusedAttention",
            .attrs = "transpose_key=true; num_args=1; fused_ops=[Mul]",
            .inputs = {QUERIES, "float32[1,2,1] 0 2", VALUES, "float32[] 0.5"},
            .outputs = {"float32[1,2,2] 1 14 2 12"}},
        {.op = "_FusedAttention",
            .attrs = "transpose_key=true; num_args=2; fused_ops=[Div,Add]",
            .inputs = {QUERIES, "float32[1,2,1] 0 2", VALUES, "float32[1] 2", "float32[1,2] 0 -inf"},
            .outputs = {"float32[1,2,2] 4 8 4 8"}},
        {.op = "_FusedAttention",
            .attrs = "transpose_key=true; num_args=3; fused_ops=[Sub,Mul,Add]",
            .inputs = {QUERIES, "float32[1,2,1] 0 2", VALUES, "float32[2] 1 1", "float32[] 0.5",
                "float32[2,1] 3 -3"},
            .outputs = {"float32[1,2,2] 1 14 2 12"}},
        {.op = "_FusedAttention",
            .attrs = "transpose_key=true; num_args=1; fused_ops=[Add]",
            .inputs = {QUERIES, KEYS, VALUES, "float32[2,2] -inf -inf 0 nan"},
            .outputs = {"float32[1,2,2] nan nan nan nan"}},
    };
    RUN(cases);
}

/* A mask may ask for more batches, more rows and more columns than the product has. */
static void
batches_and_operands_broadcast(void **state)
{
    (void)state;
    static const OpCase cases[] = {
        {.op = "_FusedAttention",
            .attrs = "transpose_key=true; num_args=0",
            .inputs = {"float32[2,1,1,1] 0 0", "float32[1,2,1] 0 1", "float32[2,2,1] 1 3 5 9"},
            .outputs = {"float32[2,2,1,1] 2 7 2 7"}},
        {.op = "_FusedAttention",
            .attrs = "transpose_key=true; num_args=1; fused_ops=[Add]",
            .inputs = {"float32[1,1,1] 0", "float32[1,2,1] 0 1", "float32[1,2,1] 1 3",
                "float32[2,1,2] 0 -inf -inf 0"},
            .outputs = {"float32[2,1,1] 1 3"}},
        {.op = "_FusedAttention",
            .attrs = "transpose_key=true; num_args=1; fused_ops=[Add]",
            .inputs = {"float32[1,1,1] 0", "float32[1,2,1] 0 1", "float32[1,2,1] 1 3",
                "float32[2,2] 0 -inf -inf 0"},
            .outputs = {"float32[1,2,1] 1 3"}},
        {.op = "_FusedAttention",
            .attrs = "transpose_key=true; num_args=2; fused_ops=[Add,Add]",
            .inputs = {"float32[1,2,1] 0 0", "float32[1,1,1] 0", "float32[1,2,1] 1 3", "float32[1,2] 0 -inf",
                "float32[2,1] 5 6"},
            .outputs = {"float32[1,2,1] 1 1"}},
    };
    RUN(cases);
}

static void
without_elements_there_is_nothing_or_zeros(void **state)
{
    (void)state;
    static const OpCase cases[] = {
        {.op = "_FusedAttention",
            .attrs = "transpose_key=true; num_args=0",
            .inputs = {"float32[0,2,1]", "float32[0,2,1]", "float32[0,2,3]"},
            .outputs = {"float32[0,2,3]"}},
        {.op = "_FusedAttention",
            .attrs = "transpose_key=true; num_args=0",
            .inputs = {"float32[1,2,3] 1 2 3 4 5 6", "float32[1,0,3]", "float32[1,0,2]"},
            .outputs = {"float32[1,2,2] 0 0 0 0"}},
        {.op = "_FusedAttention",
            .attrs = "transpose_key=true; num_args=0",
            .inputs = {"float32[1,1,0]", "float32[1,2,0]", "float32[1,2,1] 1 3"},
            .outputs = {"float32[1,1,1] 2"}},
    };
    RUN(cases);
}

static void
what_does_not_fit_is_refused(void **state)
{
    (void)state;
    static const OpCase cases[] = {
        {.op = "_FusedAttention",
            .attrs = "num_args=0; fused_ops=[Mul]",
            .inputs = {"float32[1,1] 1", "float32[1,1] 1", "float32[1,1] 1"},
            .error = "fused_ops has 1 steps for 0 operands; there are at most 3, each with an operand",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "_FusedAttention",
            .attrs = "num_args=1; fused_ops=[Moon]",
            .inputs = {"float32[1,1] 1", "float32[1,1] 1", "float32[1,1] 1", "float32[] 1"},
            .error = "fused_ops has 'Moon' as its step 0, which is not known",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "_FusedAttention",
            .attrs = "num_args=1; fused_ops=[Mul]",
            .inputs = {"float32[2,1] 1 1", "float32[1,2] 1 1", "float32[2,1] 1 1", "float32[3] 1 1 1"},
            .error = "scores of shape [2,2] and the operand of step 0 of shape [3] do not broadcast",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "_FusedAttention",
            .attrs = "num_args=0",
            .inputs = {"float32[1,1] 1", "float32[1] 1", "float32[1,1] 1"},
            .error = "input 1 has shape [1], which is not of matrices",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_weighed_by_the_softmax_of_scores),
        cmocka_unit_test(steps_change_the_scores_in_their_order),
        cmocka_unit_test(batches_and_operands_broadcast),
        cmocka_unit_test(without_elements_there_is_nothing_or_zeros),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
