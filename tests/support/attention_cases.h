/* Attention as graphs spell it out and as one node, over the same inputs: both must have the same bits on
 * every device. */
#pragma once

#include "tests/support/partition_runs.h"

enum { ATTENTION_CASE_INPUTS_MAX = 6, ATTENTION_CASE_STEPS_MAX = 3 };

typedef struct AttentionCase {
    bool is_large; /* takes long on a card that the CPU plays */
    bool transposes_key;
    int step_count;
    const char *steps[ATTENTION_CASE_STEPS_MAX]; /* ops; operands are the inputs behind the first three */
    Shape inputs[ATTENTION_CASE_INPUTS_MAX];
} AttentionCase;

extern const AttentionCase attention_cases[];
extern const size_t attention_case_count;

/* Compiles the case for the fixture's devices and runs it twice. Returns the output, which is the caller's.
 * `dtype` is float16 or float32. */
Tensor attention_case_output(RunFixture *fixture, const AttentionCase *one, Dtype dtype, bool is_fused);
