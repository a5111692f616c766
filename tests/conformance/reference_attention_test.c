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
            .attrs = "transpose_key=true; num_args=1; num_masks=0; fused_ops=[Mul]",
            .inputs = {QUERIES, "float32[1,2,1] 0 2", VALUES, "float32[] 0.5"},
            .outputs = {"float32[1,2,2] 1 14 2 12"}},
        {.op = "_FusedAttention",
            .attrs = "transpose_key=true; num_args=2; num_masks=0; fused_ops=[Div,Add]",
            .inputs = {QUERIES, "float32[1,2,1] 0 2", VALUES, "float32[1] 2", "float32[1,2] 0 -inf"},
            .outputs = {"float32[1,2,2] 4 8 4 8"}},
        {.op = "_FusedAttention",
            .attrs = "transpose_key=true; num_args=3; num_masks=0; fused_ops=[Sub,Mul,Add]",
            .inputs = {QUERIES, "float32[1,2,1] 0 2", VALUES, "float32[2] 1 1", "float32[] 0.5",
                "float32[2,1] 3 -3"},
            .outputs = {"float32[1,2,2] 1 14 2 12"}},
        {.op = "_FusedAttention",
            .attrs = "transpose_key=true; num_args=1; num_masks=0; fused_ops=[Add]",
            .inputs = {QUERIES, KEYS, VALUES, "float32[2,2] -inf -inf 0 nan"},
            .outputs = {"float32[1,2,2] nan nan nan nan"}},
    };
    RUN(cases);
}

static void
masks_choose_between_scores_and_something_else(void **state)
{
    (void)state;
    static const OpCase cases[] = {
        {.op = "_FusedAttention",
            .attrs = "transpose_key=true; num_args=1; num_masks=1; fused_ops=[Keep]",
            .inputs = {QUERIES, KEYS, VALUES, "float32[] -inf", "bool[2,2] 1 1 0 1"},
            .outputs = {"float32[1,2,2] 1 14 0 16"}},
        {.op = "_FusedAttention",
            .attrs = "transpose_key=true; num_args=1; num_masks=1; fused_ops=[Replace]",
            .inputs = {QUERIES, KEYS, VALUES, "float32[1,2] -inf 0", "bool[2] 1 0"},
            .outputs = {"float32[1,2,2] 0 16 0 16"}},
        {.op = "_FusedAttention",
            .attrs = "transpose_key=true; num_args=2; num_masks=1; fused_ops=[Mul,Keep]",
            .inputs = {"float16[1,1,1] 0", "float16[1,2,1] 0 1", "float16[1,2,1] 1 3", "float16[] 0.5",
                "float16[] -inf", "bool[2,1,2] 1 0 0 1"},
            .outputs = {"float16[2,1,1] 1 3"}},
        {.op = "_FusedAttention",
            .attrs = "transpose_key=true; num_args=3; num_masks=2; fused_ops=[Keep,Add,Replace]",
            .inputs = {QUERIES, KEYS, VALUES, "float32[] 0", "float32[1,2] 0 -inf", "float32[] 5", "bool[] 0",
                "bool[2,1] 0 1"},
            .outputs = {"float32[1,2,2] 4 8 2 12"}},
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
            .attrs = "transpose_key=true; num_args=1; num_masks=0; fused_ops=[Add]",
            .inputs = {"float32[1,1,1] 0", "float32[1,2,1] 0 1", "float32[1,2,1] 1 3",
                "float32[2,1,2] 0 -inf -inf 0"},
            .outputs = {"float32[2,1,1] 1 3"}},
        {.op = "_FusedAttention",
            .attrs = "transpose_key=true; num_args=1; num_masks=0; fused_ops=[Add]",
            .inputs = {"float32[1,1,1] 0", "float32[1,2,1] 0 1", "float32[1,2,1] 1 3",
                "float32[2,2] 0 -inf -inf 0"},
            .outputs = {"float32[1,2,1] 1 3"}},
        {.op = "_FusedAttention",
            .attrs = "transpose_key=true; num_args=2; num_masks=0; fused_ops=[Add,Add]",
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
            .attrs = "num_args=0; num_masks=0; fused_ops=[Mul]",
            .inputs = {"float32[1,1] 1", "float32[1,1] 1", "float32[1,1] 1"},
            .error = "fused_ops has 1 steps for 0 operands; there are at most 3, each with an operand",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "_FusedAttention",
            .attrs = "num_args=1; num_masks=0; fused_ops=[Moon]",
            .inputs = {"float32[1,1] 1", "float32[1,1] 1", "float32[1,1] 1", "float32[] 1"},
            .error = "fused_ops has 'Moon' as its step 0, which is not known",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "_FusedAttention",
            .attrs = "num_args=1; num_masks=0; fused_ops=[Mul]",
            .inputs = {"float32[2,1] 1 1", "float32[1,2] 1 1", "float32[2,1] 1 1", "float32[3] 1 1 1"},
            .error = "scores of shape [2,2] and the operand of step 0 of shape [3] do not broadcast",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "_FusedAttention",
            .attrs = "num_args=1; num_masks=0; fused_ops=[Keep]",
            .inputs = {"float32[1,1] 1", "float32[1,1] 1", "float32[1,1] 1", "float32[] 1"},
            .error = "fused_ops has 1 steps that choose for 0 masks",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "_FusedAttention",
            .attrs = "num_args=1; num_masks=1; fused_ops=[Add]",
            .inputs = {"float32[1,1] 1", "float32[1,1] 1", "float32[1,1] 1", "float32[] 1", "bool[] 1"},
            .error = "fused_ops has 0 steps that choose for 1 masks",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "_FusedAttention",
            .attrs = "num_args=1; num_masks=1; fused_ops=[Keep]",
            .inputs = {"float32[2,1] 1 1", "float32[1,2] 1 1", "float32[2,1] 1 1", "float32[] 1",
                "bool[3] 1 1 1"},
            .error = "scores of shape [2,2] and the mask of step 0 of shape [3] do not broadcast",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "_FusedAttention",
            .attrs = "num_args=0",
            .inputs = {"float32[1,1] 1", "float32[1] 1", "float32[1,1] 1"},
            .error = "input 1 has shape [1], which is not of matrices",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

/* Scores are products with a head size of 1: the scale is 1. */
#define HEADS_Q "float32[1,1,2,1] 1.0986123 0"
#define HEADS_K "float32[1,1,2,1] 0 1"
#define HEADS_V "float32[1,1,2,2] 4 8 0 16"

static void
heads_of_onnx_attend_to_keys_that_they_see(void **state)
{
    (void)state;
    static const OpCase cases[] = {
        {.op = "onnx::Attention",
            .inputs = {HEADS_Q, HEADS_K, HEADS_V},
            .outputs = {"float32[1,1,2,2] 1 14 2 12", HEADS_K, HEADS_V}},
        {.op = "onnx::Attention", /* two heads side by side, the second sees keys of its own */
            .attrs = "q_num_heads=2; kv_num_heads=2",
            .inputs = {"float32[1,1,2] 1.0986123 0", "float32[1,2,2] 0 5 1 7", "float32[1,2,2] 4 1 0 3"},
            .outputs = {"float32[1,1,2] 1 2", "float32[1,2,2,1] 0 1 5 7", "float32[1,2,2,1] 4 0 1 3"}},
        {.op = "onnx::Attention", /* two heads share a key */
            .inputs = {"float16[1,2,1,1] 0 0", "float16[1,1,2,1] 3 3", "float16[1,1,2,1] 1 3"},
            .outputs = {"float16[1,2,1,1] 2 2", "float16[1,1,2,1] 3 3", "float16[1,1,2,1] 1 3"}},
        {.op = "onnx::Attention",
            .attrs = "is_causal=1",
            .inputs = {HEADS_Q, HEADS_K, HEADS_V},
            .outputs = {"float32[1,1,2,2] 4 8 2 12", HEADS_K, HEADS_V}},
        {.op = "onnx::Attention", /* the past is seen, and stands in front */
            .attrs = "is_causal=1",
            .inputs = {"float64[1,1,1,1] 0", "float64[1,1,1,1] 1", "float64[1,1,1,1] 3", "",
                "float64[1,1,1,1] 2", "float64[1,1,1,1] 7"},
            .outputs = {"float64[1,1,1,1] 5", "float64[1,1,2,1] 2 1", "float64[1,1,2,1] 7 3"}},
        {.op = "onnx::Attention", /* a mask of bools, of floats and of integers */
            .inputs = {HEADS_Q, HEADS_K, HEADS_V, "bool[2,2] 1 0 0 0"},
            .outputs = {"float32[1,1,2,2] 4 8 0 0", HEADS_K, HEADS_V}},
        {.op = "onnx::Attention",
            .inputs = {"float32[1,1,2,1] 0 0", HEADS_K, HEADS_V, "float32[1,2] 0 1.0986123"},
            .outputs = {"float32[1,1,2,2] 1 14 1 14", HEADS_K, HEADS_V}},
        {.op = "onnx::Attention",
            .inputs = {"float32[1,1,2,1] 0 0", HEADS_K, HEADS_V, "int8[2] 3 3"},
            .outputs = {"float32[1,1,2,2] 2 12 2 12", HEADS_K, HEADS_V}},
        {.op = "onnx::Attention", /* a short mask hides the keys behind its end */
            .inputs = {HEADS_Q, HEADS_K, HEADS_V, "float32[1] 0"},
            .outputs = {"float32[1,1,2,2] 4 8 4 8", HEADS_K, HEADS_V}},
        {.op = "onnx::Attention", /* the second key is padding; windows end before it */
            .inputs = {HEADS_Q, HEADS_K, HEADS_V, "", "", "", "int64[1] 1"},
            .outputs = {"float32[1,1,2,2] 4 8 4 8", HEADS_K, HEADS_V}},
        {.op = "onnx::Attention",
            .attrs = "left_window_size=0; right_window_size=0",
            .inputs = {HEADS_Q, HEADS_K, HEADS_V},
            .outputs = {"float32[1,1,2,2] 4 8 0 16", HEADS_K, HEADS_V}},
        {.op = "onnx::Attention",
            .attrs = "left_window_size=9223372036854775807; right_window_size=9223372036854775807",
            .inputs = {HEADS_Q, HEADS_K, HEADS_V},
            .outputs = {"float32[1,1,2,2] 1 14 2 12", HEADS_K, HEADS_V}},
        {.op = "onnx::Attention", /* nothing, of as many heads as there can be */
            .inputs = {"float32[1099511627776,1,0,1]", "float32[1099511627776,1,0,1]",
                "float32[1099511627776,1,0,1]"},
            .outputs = {"float32[1099511627776,1,0,1]", "float32[1099511627776,1,0,1]",
                "float32[1099511627776,1,0,1]"}},
        {.op = "onnx::Attention", /* no keys: zeros */
            .inputs = {HEADS_Q, "float32[1,1,0,1]", "float32[1,1,0,2]"},
            .outputs = {"float32[1,1,2,2] 0 0 0 0", "float32[1,1,0,1]", "float32[1,1,0,2]"}},
    };
    RUN(cases);
}

static void
scores_of_onnx_are_given_out_at_each_stage(void **state)
{
    (void)state;
    static const OpCase cases[] = {
        {.op = "onnx::Attention",
            .attrs = "score_outputs=1; softcap=2; scale=4",
            .inputs = {HEADS_Q, HEADS_K, HEADS_V, "bool[2] 1 0"},
            .outputs = {"float32[1,1,2,2] 4 8 4 8", HEADS_K, HEADS_V, "float32[1,1,2,2] 0 4.3944492 0 0"}},
        {.op = "onnx::Attention", /* 2 tanh(4.3944492 / 2) */
            .attrs = "score_outputs=1; softcap=2; scale=4; qk_matmul_output_mode=1",
            .inputs = {HEADS_Q, HEADS_K, HEADS_V, "bool[2] 1 0"},
            .outputs = {"float32[1,1,2,2] 4 8 4 8", HEADS_K, HEADS_V, "float32[1,1,2,2] 0 1.9512195 0 0"}},
        {.op = "onnx::Attention",
            .attrs = "score_outputs=1; qk_matmul_output_mode=2",
            .inputs = {HEADS_Q, HEADS_K, HEADS_V, "bool[2] 1 0"},
            .outputs = {"float32[1,1,2,2] 4 8 4 8", HEADS_K, HEADS_V, "float32[1,1,2,2] 0 -inf 0 -inf"}},
        {.op = "onnx::Attention",
            .attrs = "score_outputs=1; qk_matmul_output_mode=3",
            .inputs = {HEADS_Q, HEADS_K, HEADS_V},
            .outputs = {"float32[1,1,2,2] 1 14 2 12", HEADS_K, HEADS_V,
                "float32[1,1,2,2] 0.25 0.75 0.5 0.5"}},
    };
    RUN(cases);
}

#define REFUSED(text, ...)                                                                                   \
    {                                                                                                        \
        .op = "onnx::Attention", .error = (text), .error_code = STATUS_INVALID_ARGUMENT, __VA_ARGS__         \
    }

static void
attention_of_onnx_that_does_not_fit_is_refused(void **state)
{
    (void)state;
    static const OpCase cases[] = {
        REFUSED("the query has rank 2, not 3 or 4",
            .inputs = {"float32[1,1] 1", "float32[1,1] 1", "float32[1,1] 1"}),
        REFUSED("input 1 has shape [1,1,1], not rank 4", .inputs = {HEADS_Q, "float32[1,1,1] 1", HEADS_V}),
        REFUSED("inputs of rank 3 need q_num_heads and kv_num_heads of at least 1, not 0 and 0",
            .inputs = {"float32[1,1,1] 1", "float32[1,1,1] 1", "float32[1,1,1] 1"}),
        REFUSED("a dimension of 3 cannot be cut into 2 heads", .attrs = "q_num_heads=2; kv_num_heads=1",
            .inputs = {"float32[1,1,3] 1 ...", "float32[1,1,1] 1", "float32[1,1,1] 1"}),
        REFUSED("3 heads of the query cannot share 2 heads of the key",
            .inputs = {"float32[1,3,1,1] 1 ...", "float32[1,2,1,1] 1 ...", "float32[1,2,1,1] 1 ..."}),
        REFUSED("the size of a head is 1 on one side and 2 on the other",
            .inputs = {HEADS_Q, "float32[1,1,1,2] 1 1", "float32[1,1,1,1] 1"}),
        REFUSED("the number of keys is 2 on one side and 1 on the other",
            .inputs = {HEADS_Q, HEADS_K, "float32[1,1,1,1] 1"}),
        REFUSED("the batch is 1 on one side and 2 on the other",
            .inputs = {HEADS_Q, HEADS_K, "float32[2,1,2,1] 1 ..."}),
        REFUSED("past_key and past_value are not there together",
            .inputs = {HEADS_Q, HEADS_K, HEADS_V, "", HEADS_K}),
        REFUSED("nonpad_kv_seqlen and past_key are not there together",
            .inputs = {HEADS_Q, HEADS_K, HEADS_V, "", HEADS_K, HEADS_V, "int64[1] 1"}),
        REFUSED("the length of the past is 2 on one side and 1 on the other",
            .inputs = {HEADS_Q, HEADS_K, HEADS_V, "", HEADS_K, "float32[1,1,1,2] 1 1"}),
        REFUSED("a mask of shape [3,2] is none of scores of shape [1,1,2,2]",
            .inputs = {HEADS_Q, HEADS_K, HEADS_V, "bool[3,2] 1 ..."}),
        REFUSED("a mask of shape [3] is none of scores of shape [1,1,2,2]",
            .inputs = {HEADS_Q, HEADS_K, HEADS_V, "bool[3] 1 ..."}),
        REFUSED("a mask of shape [] is none of scores of shape [1,1,2,2]",
            .inputs = {HEADS_Q, HEADS_K, HEADS_V, "bool[] 1"}),
        REFUSED("nonpad_kv_seqlen of batch 0 is 3, not within 0 to 2",
            .inputs = {HEADS_Q, HEADS_K, HEADS_V, "", "", "", "int64[1] 3"}),
        {.op = "onnx::Attention",
            .attrs = "q_num_heads=4611686018427387904; kv_num_heads=4611686018427387904",
            .inputs = {"float32[1,4,0]", "float32[1,1,0]", "float32[1,1,0]"},
            .error = "shape [1,4611686018427387904,4,1] has too many elements",
            .error_code = STATUS_RESOURCE_EXHAUSTED},
        REFUSED("qk_matmul_output_mode is 4, not within 0 to 3", .attrs = "qk_matmul_output_mode=4",
            .inputs = {HEADS_Q, HEADS_K, HEADS_V}),
        REFUSED("left_window_size is -2, not at least -1", .attrs = "left_window_size=-2",
            .inputs = {HEADS_Q, HEADS_K, HEADS_V}),
        REFUSED("right_window_size is -2, not at least -1", .attrs = "right_window_size=-2",
            .inputs = {HEADS_Q, HEADS_K, HEADS_V}),
        REFUSED("softmax_precision is 7, not the element type of a float", .attrs = "softmax_precision=7",
            .inputs = {HEADS_Q, HEADS_K, HEADS_V}),
        REFUSED("score_outputs is 2, not 0 or 1", .attrs = "score_outputs=2",
            .inputs = {HEADS_Q, HEADS_K, HEADS_V}),
        REFUSED("score_outputs is 9, not 0 or 1", .attrs = "score_outputs=9",
            .inputs = {"float16[1,1,2,1] 0 1", "float16[1,1,2,1] 0 1", "float16[1,1,2,1] 0 1"}),
    };
    RUN(cases);
}

/* The angle is 90°: a pair (a, b) becomes (-b, a). */
static void
vectors_are_rotated_by_the_angles_of_their_positions(void **state)
{
    (void)state;
    static const OpCase cases[] = {
        {.op = "onnx::RotaryEmbedding",
            .inputs = {"float32[1,1,1,4] 1 2 3 4", "float32[1,1,2] 0 0", "float32[1,1,2] 1 1"},
            .outputs = {"float32[1,1,1,4] -3 -4 1 2"}},
        {.op = "onnx::RotaryEmbedding",
            .attrs = "interleaved=1",
            .inputs = {"float16[1,1,1,4] 1 2 3 4", "float16[1,1,2] 0 1", "float16[1,1,2] 1 0"},
            .outputs = {"float16[1,1,1,4] -2 1 3 4"}},
        {.op = "onnx::RotaryEmbedding", /* two heads side by side, of which a part is rotated */
            .attrs = "num_heads=2; rotary_embedding_dim=2",
            .inputs = {"bfloat16[1,2,6] 1 2 3 4 5 6 1 2 3 4 5 6", "bfloat16[2,1] 0 1", "bfloat16[2,1] 1 0",
                "int64[1,2] 1 0"},
            .outputs = {"bfloat16[1,2,6] 1 2 3 4 5 6 -2 1 3 -5 4 6"}},
        {.op = "onnx::RotaryEmbedding", /* nothing, of as many positions as there can be */
            .inputs = {"float32[1099511627776,0,1,0]", "float32[1099511627776,1,0]",
                "float32[1099511627776,1,0]"},
            .outputs = {"float32[1099511627776,0,1,0]"}},
        {.op = "onnx::RotaryEmbedding",
            .inputs = {"float32[1,0,1,4]", "float32[1,1,2] 0 0", "float32[1,1,2] 1 1"},
            .outputs = {"float32[1,0,1,4]"}},
        {.op = "onnx::RotaryEmbedding",
            .inputs = {"float32[1,1,1,2] 1 2", "float32[3,1] 0 ...", "float32[3,1] 0 ...", "int64[1,1] 3"},
            .error = "position_ids has 3 as its value 0, not within 0 to 2",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::RotaryEmbedding",
            .inputs = {"float32[1,1,1,2] 1 2", "float32[3,1] 0 ...", "float32[3,1] 0 ...", "int64[1,1] -1"},
            .error = "position_ids has -1 as its value 0, not within 0 to 2",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::RotaryEmbedding",
            .inputs = {"float32[1,1,2] 1 2", "float32[1,1,1] 0", "float32[1,1,1] 0"},
            .error = "a dimension of 2 cannot be cut into 0 heads",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::RotaryEmbedding",
            .inputs = {"float32[1,1,1,3] 1 2 3", "float32[1,1,1] 0", "float32[1,1,1] 0"},
            .error = "3 numbers of a head of 3 cannot be rotated in pairs",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::RotaryEmbedding",
            .attrs = "rotary_embedding_dim=4",
            .inputs = {"float32[1,1,1,2] 1 2", "float32[1,1,2] 0 0", "float32[1,1,2] 0 0"},
            .error = "4 numbers of a head of 2 cannot be rotated in pairs",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::RotaryEmbedding",
            .inputs = {"float32[1,1,1,2] 1 2", "float32[1,1,2] 0 0", "float32[1,1,2] 0 0"},
            .error = "the number of angles is 1 on one side and 2 on the other",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::RotaryEmbedding",
            .inputs = {"float32[2] 1 2", "float32[1,1,2] 0 0", "float32[1,1,2] 0 0"},
            .error = "the input has rank 1, not 3 or 4",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

/* One head of one number: the state is a number, and the scale is 1. */
static void
states_are_updated_token_by_token(void **state)
{
    (void)state;
    static const OpCase cases[] = {
        {.op = "onnx::LinearAttention", /* 1 × 2 + 3 × 1 */
            .attrs = "q_num_heads=1; kv_num_heads=1; update_rule=linear; S=float32",
            .inputs = {"float32[1,2,1] 1 10", "float32[1,2,1] 1 3", "float32[1,2,1] 2 1"},
            .outputs = {"float32[1,2,1] 2 50", "float32[1,1,1,1] 5"}},
        {.op = "onnx::LinearAttention", /* e^0 leaves the state as it was */
            .attrs = "q_num_heads=2; kv_num_heads=1; update_rule=gated; scale=0.5",
            .inputs = {"float16[1,1,2] 1 2", "float16[1,1,1] 1", "float16[1,1,1] 3", "float32[1,1,1,1] 4",
                "float16[1,1,1] 0"},
            .outputs = {"float16[1,1,2] 3.5 7", "float32[1,1,1,1] 7"}},
        {.op = "onnx::LinearAttention", /* the key finds 4: 0.5 × (3 - 4) is added */
            .attrs = "q_num_heads=1; kv_num_heads=1; update_rule=delta",
            .inputs = {"float32[1,1,1] 1", "float32[1,1,1] 1", "float32[1,1,1] 3", "float32[1,1,1,1] 4", "",
                "float32[1,1,1] 0.5"},
            .outputs = {"float32[1,1,1] 3.5", "float32[1,1,1,1] 3.5"}},
        {.op = "onnx::LinearAttention", /* each number of the key decays by itself: the first by half */
            .attrs = "q_num_heads=1; kv_num_heads=1; scale=1",
            .inputs = {"float32[1,1,2] 1 1", "float32[1,1,2] 1 0", "float32[1,1,1] 3", "float32[1,1,2,1] 4 6",
                "float32[1,1,2] -0.6931472 0", "float32[1,1,1] 1"},
            .outputs = {"float32[1,1,1] 9", "float32[1,1,2,1] 3 6"}},
        {.op = "onnx::LinearAttention",
            .attrs = "q_num_heads=1; kv_num_heads=1; update_rule=linear; S=float32",
            .inputs = {"float32[1,0,1]", "float32[1,0,1]", "float32[1,0,1]"},
            .outputs = {"float32[1,0,1]", "float32[1,1,1,1] 0"}},
        {.op = "onnx::LinearAttention",
            .attrs = "q_num_heads=1; kv_num_heads=1; S=float32",
            .inputs = {"float32[1,1,1] 1", "float32[1,1,1] 1", "float32[1,1,1] 1"},
            .error = "update_rule 'gated_delta' needs decay",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::LinearAttention",
            .attrs = "q_num_heads=1; kv_num_heads=1; update_rule=linear; S=float32",
            .inputs = {"float32[1,1,1] 1", "float32[1,1,1] 1", "float32[1,1,1] 1", "", "",
                "float32[1,1,1] 1"},
            .error = "update_rule 'linear' has no beta",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::LinearAttention",
            .attrs = "q_num_heads=1; kv_num_heads=1; update_rule=other; S=float32",
            .inputs = {"float32[1,1,1] 1", "float32[1,1,1] 1", "float32[1,1,1] 1"},
            .error = "update_rule is 'other', not linear, gated, delta or gated_delta",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::LinearAttention",
            .attrs = "q_num_heads=3; kv_num_heads=2; update_rule=linear; S=float32",
            .inputs = {"float32[1,1,3] 1 ...", "float32[1,1,2] 1 1", "float32[1,1,2] 1 1"},
            .error = "3 heads of the query cannot share 2 heads of the key",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::LinearAttention",
            .attrs = "q_num_heads=2; kv_num_heads=2; update_rule=linear; S=float32",
            .inputs = {"float32[1,1,3] 1 ...", "float32[1,1,2] 1 1", "float32[1,1,2] 1 1"},
            .error = "a dimension of 3 cannot be cut into 2 heads",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::LinearAttention",
            .attrs = "q_num_heads=1; kv_num_heads=1; update_rule=gated; S=float32",
            .inputs = {"float32[1,1,2] 1 1", "float32[1,1,2] 1 1", "float32[1,1,1] 1", "",
                "float32[1,1,3] 1 1 1"},
            .error = "decay has 3 numbers a token, not 1 or 2",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::LinearAttention",
            .attrs = "q_num_heads=1; kv_num_heads=1; update_rule=delta; S=float32",
            .inputs = {"float32[1,1,2] 1 1", "float32[1,1,2] 1 1", "float32[1,1,1] 1", "", "",
                "float32[1,1,2] 1 1"},
            .error = "beta has 2 numbers a token, not 1 or 1",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::LinearAttention",
            .attrs = "q_num_heads=1; kv_num_heads=1; update_rule=linear",
            .inputs = {"float32[1,1,1] 1", "float32[1,1,1] 1", "float32[1,1,1] 1", "float32[1,1,2,1] 1 1"},
            .error = "a dimension of the state is 1 on one side and 2 on the other",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

static void
masks_of_keys_are_added_to_scores(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "com.microsoft::_KeyMask",
            .inputs = {"int32[1,3] 1 0 2", "float32[1,2,1] 1 1", "float32[1,3,1] 1 1 1"},
            .outputs = {"float32[1,1,2,3] 0 -10000 0 0 -10000 0"}},
        {.op = "com.microsoft::_KeyMask",
            .attrs = "mask_filter_value=-1",
            .inputs = {"int64[1,2,2] 1 0 0 1", "float32[1,2,1] 1 1", "float32[1,2,1] 1 1"},
            .outputs = {"float32[1,1,2,2] 0 -1 -1 0"}},
        {.op = "com.microsoft::_KeyMask",
            .attrs = "mask_filter_value=-1",
            .inputs = {"int32[2] 1 2", "float32[2,1,1] 1 1", "float32[2,2,1] 1 1 1 1"},
            .outputs = {"float32[2,1,1,2] 0 -1 0 0"}},
        {.op = "com.microsoft::_KeyMask",
            .attrs = "mask_filter_value=-1",
            .inputs = {"int32[2] 2 1", "float32[1,1,1] 1", "float32[1,3,1] 1 1 1"},
            .outputs = {"float32[1,1,1,3] -1 0 -1"}},
        {.op = "com.microsoft::_KeyMask",
            .attrs = "mask_filter_value=-1",
            .inputs = {"int32[5] 1 0 1 0 2", "float32[1,1,1] 1", "float32[1,2,1] 1 1"},
            .outputs = {"float32[1,1,1,2] 0 -1"}},
        {.op = "com.microsoft::_KeyMask",
            .inputs = {"int32[1,2] 1 1", "float32[1,1,1] 1", "float32[1,1,1] 1", "float32[1,1,1,1] 1"},
            .outputs = {"float32[1,1,1,2] 0 0"}},
        {.op = "com.microsoft::_KeyMask",
            .inputs = {"int32[0,2]", "float32[0,1,1]", "float32[0,2,1]"},
            .outputs = {"float32[0,1,1,2]"}},
        {.op = "com.microsoft::_KeyMask",
            .inputs = {"int32[1,3] 1 1 1", "float32[1,1,1] 1", "float32[1,2,1] 1 1"},
            .error = "a mask of shape [1,3] does not fit scores of shape [1,1,1,2]",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "com.microsoft::_KeyMask",
            .inputs = {"int32[1] 1", "float16[4611686018427387903,0,1]", "float16[1,1,1] 1"},
            .error = "a mask of shape [1] does not fit scores of shape [4611686018427387903,1,0,1]",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "com.microsoft::_KeyMask",
            .inputs = {"int32[1,1] 1", "float32[1] 1", "float32[1,1,1] 1"},
            .error = "shape [1] of queries or keys is not of rank 3 or 4",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

/* Two heads of a query of two tokens, which share the keys and values of one. */
#define DECODER_QUERY                                                                                        \
    "float32[1,2,16] 0.85 -1.75 0.76 -0.85 0.78 0.13 -1.54 1.25 1.44 -0.07 -0.27 -0.16 -0.98 1.1 "           \
    "-0.54 -0.05 -0.79 -0.63 -1.28 1.26 -0.15 0.97 0.01 -0.69 -0.33 -0.56 0.01 -0.38 -0.3 -1.38 "            \
    "-0.81 1.65"
#define DECODER_KEYS                                                                                         \
    "-0.67 -1.05 0.34 1.41 -1.45 -0.21 -0.63 -1.76 0.73 -0.02 0.07 -0.75 0.45 -0.54 -0.14 -1.11"
#define DECODER_VALUES                                                                                       \
    "-1.22 1.34 -0.51 0.29 -0.03 -0.44 -0.51 0.63 -0.3 -0.15 0.02 1.18 0.68 0.38 -0.56 -1.38"

static void
decoders_attend_to_what_they_have_seen(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "com.microsoft::GroupQueryAttention",
            .attrs = "num_heads=2; kv_num_heads=1",
            .inputs = {DECODER_QUERY, "float32[1,2,8] " DECODER_KEYS, "float32[1,2,8] " DECODER_VALUES, "",
                "", "int32[1] 1", "int32[] 2"},
            .outputs = {"float32[1,2,16] -1.22 1.34 -0.51 0.29 -0.03 -0.44 -0.51 0.63 -1.22 1.34 -0.51 0.29 "
                        "-0.03 -0.44 -0.51 0.63 -1.092959 1.134249 -0.4368135 0.412898 0.06804223 -0.3267681 "
                        "-0.5169044 0.3524438 -0.7323611 0.5502369 -0.2290776 0.7617376 0.34633 -0.00536531 "
                        "-0.5365021 -0.435385",
                "float32[1,1,2,8] " DECODER_KEYS, "float32[1,1,2,8] " DECODER_VALUES},
            .tolerance = 1e-4},
        {.op = "com.microsoft::GroupQueryAttention",
            .attrs = "num_heads=2; kv_num_heads=1; softcap=2.5",
            .inputs = {"float32[2,1,16] 0.95 0.97 -0.14 0.54 0.78 0.83 0.92 -0.46 1.51 -1.25 0.86 0.49 0.87 "
                       "1.88 1.48 -1.15 -1.69 0.82 -1.02 -0.01 0.84 -1.64 -2.11 0.26 0.04 -0.25 0.04 -0.86 "
                       "-1.51 -0.17 -0.97 -1.64",
                "float32[2,1,8] 0.51 -0.06 0.41 -0.99 -0.66 -1 -0.89 0.2 -0.78 0.36 0.34 2.03 -1.39 0.89 "
                "-0.09 -0.01",
                "float32[2,1,8] -1.45 -0.46 0.74 -0.08 0.08 -0.29 1.15 -0.02 -2.2 -0.69 -1.97 -3.25 -0.53 "
                "1.33 0.05 -1.17",
                "float32[2,1,2,8] -0.94 1.13 0.16 0.05 -0.05 0.04 0.81 0.55 0.22 -1.04 0.51 -0.68 1.09 -1.27 "
                "-0.14 -0.01 -1.32 1.72 1.46 -0.46 0.77 0.38 -2.61 0.25 -0.06 0.08 -1.08 -0.27 -0.18 1.19 "
                "0.33 -0.01",
                "float32[2,1,2,8] 1.53 -0.56 -0.39 -1.82 1.57 0.96 0.92 0.67 0.11 0.22 -0.25 -0.2 0.05 1.51 "
                "0.56 -0.06 -0.58 -0.63 1.6 0.51 0.07 -0.35 -1.11 -0.07 0.87 -0.39 -0.23 -0.22 0.11 -1.59 "
                "-0.24 -0.85",
                "int32[2] 2 1", "int32[] 3"},
            .outputs =
                {"float32[2,1,16] 0.6019187 -0.3438676 -0.1387252 -1.078329 0.9013562 0.8600881 0.8730118 "
                 "0.353765 0.2010189 -0.1082596 -0.1075762 -0.6043383 0.4551962 1.03945 0.7615033 0.1392344 "
                 "-0.7127775 -0.6349177 1.307397 0.2018248 0.02082312 -0.2123047 -1.014925 -0.1601576 "
                 "-1.295434 -0.6564975 0.02339584 -1.150513 -0.1949755 0.3919314 -0.597714 -0.5557884",
                    "float32[2,1,3,8] -0.94 1.13 0.16 0.05 -0.05 0.04 0.81 0.55 0.22 -1.04 0.51 -0.68 1.09 "
                    "-1.27 -0.14 -0.01 0.51 -0.06 0.41 -0.99 -0.66 -1 -0.89 0.2 -1.32 1.72 1.46 -0.46 0.77 "
                    "0.38 -2.61 0.25 -0.78 0.36 0.34 2.03 -1.39 0.89 -0.09 -0.01 0 0 0 0 0 0 0 0",
                    "float32[2,1,3,8] 1.53 -0.56 -0.39 -1.82 1.57 0.96 0.92 0.67 0.11 0.22 -0.25 -0.2 0.05 "
                    "1.51 0.56 -0.06 -1.45 -0.46 0.74 -0.08 0.08 -0.29 1.15 -0.02 -0.58 -0.63 1.6 0.51 0.07 "
                    "-0.35 -1.11 -0.07 -2.2 -0.69 -1.97 -3.25 -0.53 1.33 0.05 -1.17 0 0 0 0 0 0 0 0"},
            .tolerance = 1e-4},
        {.op = "com.microsoft::GroupQueryAttention",
            .attrs = "num_heads=1; kv_num_heads=1; do_rotary=1; local_window_size=2",
            .inputs =
                {"float32[1,3,48] 0.88 -0.77 0.58 1.52 -0.31 -0.6 0.19 -0 -0.99 0.46 2.02 -0.26 -0.2 -1.04 "
                 "0.32 -1.25 -1.11 1.28 -0.91 1.08 1.52 0.26 0.55 1.95 -0.2 -0.59 -1.35 0.04 1.48 0.96 -0.94 "
                 "-0.86 -0.5 0.29 -0.21 0.21 0.3 -0.3 -0.04 0.21 -0.08 0.5 1.87 0.59 0.06 -1.69 0.39 -1.95 "
                 "-1.41 0.85 0.71 -0.15 -1.71 -0.37 -0.68 0.64 2.26 0.22 -0.78 -1.17 -0.06 -0.18 -1.15 0.12 "
                 "-1.15 1.11 1.06 1.08 -0.47 0.51 -0.13 -0.39 -0.34 -1.3 -1.44 0.79 -0.19 0.22 1 -1.73 -0.78 "
                 "0.18 0.39 -0.38 1.03 0.21 -1.21 -0.93 0.81 0.46 -1.9 1.35 0.6 1.34 -0.38 -0.3 -1.13 2.54 "
                 "-0.18 1.59 -0.65 0.16 -1.67 -0.38 0.98 -1.25 1.07 0.34 -1.04 -0.5 -0.46 -0.05 -0.54 -0.83 "
                 "-0.3 -1.03 -1.29 -0.05 0.88 -1.53 0 -0.65 -0.98 0.85 -0.52 1.5 -0.78 0.39 -0.23 -0.75 0.59 "
                 "-0.15 0.6 -0.05 -1.09 -0.1 0.05 0.96 -0.91 -0.04 -1.72 0.65 -1.08 -1.81",
                    "", "", "", "", "int32[1] 2", "int32[] 3",
                    "float32[3,8] -0.06 1.11 -1.52 -1.09 -0.74 -1.13 0.38 -0.81 -0.72 0.58 -0.76 0.43 -0.97 "
                    "-1.21 -1.84 1.86 -0.32 0.24 -0.03 0.16 0.05 1.91 -1.04 -1.56",
                    "float32[3,8] -1.01 -1.33 0.75 0.82 -0.96 -1.39 -0.35 1.39 -2.82 0.53 -1.08 1.04 -1.08 "
                    "-0.29 -1.51 -0.98 1.39 0.82 -0.4 -0.87 -1.89 -0.39 -0.03 -0.08"},
            .outputs =
                {"float32[1,3,16] -0.5 0.29 -0.21 0.21 0.3 -0.3 -0.04 0.21 -0.08 0.5 1.87 0.59 0.06 -1.69 "
                 "0.39 -1.95 -0.7747341 0.1820688 0.378716 -0.3689041 1.016271 0.2004086 -1.187996 "
                 "-0.9085604 0.793262 0.4607523 -1.829099 1.335707 0.5898444 1.283016 -0.3655188 -0.3310311 "
                 "-0.2964793 -0.6375895 0.5658256 -0.1778004 0.6519747 -0.01857342 -1.104505 -0.2003233 "
                 "0.1418623 0.8995643 -1.029663 0.1280113 -1.439578 0.7334013 -0.99539 -1.627484",
                    "float32[1,1,3,16] -0.1354 0.6361 2.3957 -1.21 0.296 1.0406 -0.12 -0.3841 1.1331 -2.3573 "
                    "1.3695 0.842 -2.5544 -1.4462 -0.5497 3.4071 -0.1307999 1.3328 -2.3608 -0.3572 0.2507 "
                    "-0.5533 1.7492 -2.4208 3.4878 -0.1657 -0.05039994 1.4629 0.6919 -0.4141 -1.6437 -2.8356 "
                    "0.1728 0.3338 -0.383 0.5747001 -1.0473 0.4895 -0.9385999 2.418 -0.7506 -0.8365999 "
                    "0.1494 1.0321 2.4121 2.8845 0.7848 -0.4859999",
                    "float32[1,1,3,16] -0.5 0.29 -0.21 0.21 0.3 -0.3 -0.04 0.21 -0.08 0.5 1.87 0.59 0.06 "
                    "-1.69 0.39 -1.95 -0.78 0.18 0.39 -0.38 1.03 0.21 -1.21 -0.93 0.81 0.46 -1.9 1.35 0.6 "
                    "1.34 -0.38 -0.3 -0.23 -0.75 0.59 -0.15 0.6 -0.05 -1.09 -0.1 0.05 0.96 -0.91 -0.04 -1.72 "
                    "0.65 -1.08 -1.81"},
            .tolerance = 1e-4},
        {.op = "com.microsoft::GroupQueryAttention",
            .attrs = "num_heads=2; kv_num_heads=1; scale=0.5",
            .inputs = {DECODER_QUERY, "float32[1,2,8] " DECODER_KEYS, "float32[1,2,8] " DECODER_VALUES, "",
                "", "int32[1] 1", "int32[] 2", "", "", "",
                "float32[1,2,2,2] -0.09 -1.12 -0.07 -0.04 1.29 1.87 -0.14 -0.77"},
            .outputs = {"float32[1,2,16] -1.22 1.34 -0.51 0.29 -0.03 -0.44 -0.51 0.63 -1.22 1.34 -0.51 0.29 "
                        "-0.03 -0.44 -0.51 0.63 -1.153971 1.233061 -0.4719614 0.3538761 0.02095732 "
                        "-0.3811479 -0.5135885 0.4857405 -0.8639404 0.7633381 -0.3048787 0.634449 0.2447852 "
                        "-0.1226424 -0.5293511 -0.147913",
                "float32[1,1,2,8] " DECODER_KEYS, "float32[1,1,2,8] " DECODER_VALUES},
            .tolerance = 1e-4},
        {.op = "com.microsoft::GroupQueryAttention",
            .attrs = "num_heads=2; kv_num_heads=1",
            .inputs = {DECODER_QUERY, "float32[1,2,8] " DECODER_KEYS, "float32[1,2,8] " DECODER_VALUES, "",
                "", "int32[1] 1", "int32[] 2", "", "", "", "", "float32[2] -0.06 -0.61"},
            .outputs = {"float32[1,2,16] -0.4134059 0.4540688 -0.1728172 0.09826861 -0.01016572 -0.1490972 "
                        "-0.1728172 0.2134801 -0.8298676 0.911494 -0.3469119 0.1972636 -0.02040658 "
                        "-0.2992965 -0.3469119 0.4285382 -0.8993576 0.9333336 -0.3594384 0.3397591 "
                        "0.05598954 -0.2688859 -0.4253423 0.2900135 -0.5165693 0.3881085 -0.1615794 0.53729 "
                        "0.2442832 -0.003784409 -0.3784206 -0.3070979",
                "float32[1,1,2,8] " DECODER_KEYS, "float32[1,1,2,8] " DECODER_VALUES},
            .tolerance = 1e-4},
        {.op = "com.microsoft::GroupQueryAttention",
            .attrs = "num_heads=1; kv_num_heads=1",
            .inputs = {"float32[1,1,1] 1", "float32[1,1,1] 1", "float32[1,1,1] 1", "float32[1,1,1,1] 1",
                "float32[1,1,1,1] 1", "int32[1] 5", "int32[] 2"},
            .error =
                "seqlens_k[0] is 5: so many tokens do not fit behind those of the past, of which there are 1",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "com.microsoft::GroupQueryAttention",
            .attrs = "num_heads=1; kv_num_heads=1",
            .inputs = {"float32[1,2,1] 1 1", "float32[1,2,1] 1 1", "float32[1,2,1] 1 1", "", "", "int32[1] 1",
                "int32[] 1"},
            .error = "total_sequence_length is 1, less than the 2 tokens of the query",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "com.microsoft::GroupQueryAttention",
            .attrs = "num_heads=3; kv_num_heads=2",
            .inputs = {"float32[1,1,3] 1 1 1", "float32[1,1,2] 1 1", "float32[1,1,2] 1 1", "", "",
                "int32[1] 0", "int32[] 1"},
            .error = "3 heads cannot share 2 keys",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "com.microsoft::GroupQueryAttention",
            .attrs = "num_heads=1; kv_num_heads=1; do_rotary=1",
            .inputs = {"float32[1,1,2] 1 1", "float32[1,1,2] 1 1", "float32[1,1,2] 1 1", "", "", "int32[1] 0",
                "int32[] 1"},
            .error = "do_rotary needs cos_cache and sin_cache",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "com.microsoft::GroupQueryAttention",
            .attrs = "num_heads=1; kv_num_heads=1; do_rotary=1",
            .inputs = {"float32[1,2,2] 1 1 1 1", "float32[1,2,2] 1 1 1 1", "float32[1,2,2] 1 1 1 1", "", "",
                "int32[1] 1", "int32[] 2", "float32[1,1] 1", "float32[1,1] 1"},
            .error = "position 1 is outside of cos_cache, which has 1",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "com.microsoft::GroupQueryAttention",
            .attrs = "num_heads=1; kv_num_heads=1",
            .inputs = {"float32[2,1,1] 1 1", "float32[2,1,1] 1 1", "float32[2,1,1] 1 1", "", "", "int32[1] 0",
                "int32[] 1"},
            .error = "seqlens_k has 1 numbers, not 2",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "com.microsoft::GroupQueryAttention",
            .attrs = "num_heads=1; kv_num_heads=1",
            .inputs = {"float32[1,1,1] 1", "float32[1,1,1] 1", "float32[1,1,1] 1", "", "", "int32[1] 0",
                "int32[] 1", "", "", "", "float32[1,1,1,0]"},
            .error = "attention_bias is for 0 keys, not 1",
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
        cmocka_unit_test(masks_choose_between_scores_and_something_else),
        cmocka_unit_test(batches_and_operands_broadcast),
        cmocka_unit_test(without_elements_there_is_nothing_or_zeros),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(heads_of_onnx_attend_to_keys_that_they_see),
        cmocka_unit_test(scores_of_onnx_are_given_out_at_each_stage),
        cmocka_unit_test(attention_of_onnx_that_does_not_fit_is_refused),
        cmocka_unit_test(vectors_are_rotated_by_the_angles_of_their_positions),
        cmocka_unit_test(states_are_updated_token_by_token),
        cmocka_unit_test(masks_of_keys_are_added_to_scores),
        cmocka_unit_test(decoders_attend_to_what_they_have_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
