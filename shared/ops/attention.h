/* Attention as one op: softmax(steps(query × key)) × value, where the steps are arithmetic on the scores,
 * such as a scale, or choose between the scores and something else by a mask. The attribute "fused_ops" names
 * them in their order. Their operands follow the op's own three inputs, and the masks follow the operands;
 * all broadcast with the scores.
 *
 * Threads: any.
 * Errors:  INVALID_ARGUMENT for steps that are not known or lack their operands, and for shapes that do not
 *          fit. */
#pragma once

#include "shared/graph/graph.h"

enum { ATTENTION_QUERY, ATTENTION_KEY, ATTENTION_VALUE, ATTENTION_FIRST_OPERAND };
enum { ATTENTION_STEPS_MAX = 3, ATTENTION_INPUTS_MAX = ATTENTION_FIRST_OPERAND + 2 * ATTENTION_STEPS_MAX };

/* An operand of arithmetic stands on the right. */
typedef enum AttentionStep {
    ATTENTION_ADD,
    ATTENTION_DIVIDE,
    ATTENTION_MULTIPLY,
    ATTENTION_SUBTRACT,
    ATTENTION_KEEP,    /* the scores where the mask is true, else the operand */
    ATTENTION_REPLACE, /* the operand where the mask is true, else the scores */
    ATTENTION_STEP_KINDS
} AttentionStep;

/* The kinds of arithmetic come first. */
enum { ATTENTION_ARITHMETIC_KINDS = ATTENTION_KEEP };

typedef struct Attention {
    bool transposes_key; /* a key is a row of its matrix, and not a column */
    int step_count;
    AttentionStep steps[ATTENTION_STEPS_MAX]; /* the operand of step i is input ATTENTION_FIRST_OPERAND + i */
    uint32_t masks[ATTENTION_STEPS_MAX];      /* the input that is the mask of step i; 0: it has none */
} Attention;

/* The last two dimensions are those of matrices, the others count them. */
typedef struct AttentionShapes {
    Shape product; /* of queries and keys */
    Shape scores;  /* behind the steps, whose operands may have broadened the product */
    Shape output;
} AttentionShapes;

/* Returns the name that the attribute uses: "Mul". */
const char *attention_step_name(AttentionStep step);

/* Returns whether the step has a mask. */
static inline bool
attention_step_chooses(AttentionStep step)
{
    return (int)step >= (int)ATTENTION_ARITHMETIC_KINDS;
}

MUST_USE Status attention_read(Call *call, const Node *node, Attention *ret_attention);

/* Infers the shapes from those of all inputs, whose ranks are known. */
MUST_USE Status attention_shapes(
    Call *call, const Attention *attention, const Shape *inputs, AttentionShapes *ret_shapes);
