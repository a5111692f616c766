/* cuDNN's backend API without a card: descriptors keep the attributes that they are given, and are checked
 * when they are finalized; a graph is computed by the plain kernel, from its attributes alone. A mistake in
 * what the library is asked for is a wrong result or a failed test.
 *
 * Threads: one. */
#pragma once

#include "worker/cuda/libraries.h"

enum { FAKE_ENGINES_MAX = 6 };

/* An engine that the heuristics propose. */
typedef struct FakeEngine {
    cudnnBackendHeurMode_t mode;
    uint32_t notes; /* 1 << CUDNN_NUMERICAL_NOTE_… */
    int64_t workspace_size;
    int operations_max;        /* of a graph that it can compute; 0: any number */
    cudnnStatus_t plan_status; /* of making a plan */
} FakeEngine;

typedef struct FakeCudnn {
    FakeEngine engines[FAKE_ENGINES_MAX];
    int engine_count;
    cudnnStatus_t create_status;
    cudnnStatus_t execute_status;
    int descriptors; /* that are not destroyed */
    int handles;
    int heuristics; /* how often engines were asked for */
    int executions;
    int fused_executions; /* of more than one operation */
    int channels_last; /* among the executions: images, filters and results have channels beside each other */
    int attentions;    /* among the executions */
    int last_engine;   /* that computed, or was to */
} FakeCudnn;

extern FakeCudnn fake_cudnn;
extern const CudaDnn fake_cudnn_table;

/* Makes all as at first: one engine, which computes everything, proposed at once. */
void fake_cudnn_reset(void);
