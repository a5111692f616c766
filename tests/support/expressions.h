/* Random graphs of element-wise nodes, run with and without fusion: the bits must be the same. */
#pragma once

#include "tests/support/partition_runs.h"

enum { EXPRESSION_FEEDS = 4, EXPRESSION_OPERATIONS = 24, EXPRESSION_NAME_SIZE = 16 };

typedef struct ExpressionValue {
    char name[EXPRESSION_NAME_SIZE];
    Dtype dtype;
} ExpressionValue;

/* A random graph of element-wise nodes and its feeds, all of which follow from a seed. */
typedef struct Expression {
    uint64_t seed;
    Buffer text;
    Shape shapes[EXPRESSION_FEEDS];
    Dtype dtypes[EXPRESSION_FEEDS];
    ExpressionValue values[EXPRESSION_FEEDS + EXPRESSION_OPERATIONS];
    int count;
} Expression;

/* Makes a graph of values mostly of this dtype, of this shape or such as broadcast to it. */
void expression_begin(Expression *expression, uint64_t seed, Dtype dtype, const Shape *whole);
void expression_end(Expression *expression);

Partition *expression_compile(RunFixture *fixture, Expression *expression, bool is_fused);

/* Runs the graph with its feeds, always the same. */
void expression_run(
    RunFixture *fixture, Partition *partition, Expression *expression, RunOutcome *ret_outcome);

/* Fails the test unless both ended alike, with the same bits. */
void expression_expect_same(Expression *expression, const RunOutcome *fused, const RunOutcome *expected);
