/* Small graphs with written-down feeds and fetches, run by the worker's runtime, for effects that one op
 * alone cannot show (tensor arrays, stacks, variables).
 *
 *     {.graph = "n = _Arg() T=int32 index=0\n … out = _Retval(y) T=float32 index=0\n",
 *         .feeds = {"int32[] 3"}, .fetches = {"float32[2] 1 2"}}
 *
 * The cases of one call run in one session: variables stay from case to case. After the last one all
 * device memory must have been freed. */
#pragma once

#include "tests/support/partition_runs.h"

enum { GRAPH_CASE_TENSORS_MAX = 8 };

typedef struct GraphCase {
    const char *graph; /* in the form of graph_literals.h */
    const char *feeds[GRAPH_CASE_TENSORS_MAX];
    const char *fetches[GRAPH_CASE_TENSORS_MAX];
    const char *error;
    Status error_code;
} GraphCase;

/* Runs the cases one after the other on one device; the first difference fails the test and names its
 * case. */
void graph_cases_run(const GraphCase *cases, size_t count);

/* Runs them on the devices of a fixture. */
void graph_cases_run_in(RunFixture *fixture, const GraphCase *cases, size_t count);
