/* The times at which the nodes of a run ran, as a worker puts them into its STATS frame (WireStats.trace),
 * in JSON.
 *
 *     {"elapsed_ns":n,"frames":["loop",…],"iterations":[[frame,around,number],…],"rows":[row,…],
 *      "accelerator":"/device:GPU:0","accelerated":[node,…],"left_out":n,"left_out_iterations":n,
 *      "device_source":"CUPTI 13.0","device_left_out":n,"device_texts":["stream 7",…],"device":[activity,…]}
 *
 * Iterations count from 1; 0 stands for nodes outside of loops. `around` is the iteration, an earlier one,
 * that the loop was entered from. A row begins with its node: ["name","Op","key"] the first time, later
 * the node's index; `accelerated` are those that the accelerator computed. The iteration and the numbers of
 * WireTraceRow follow, in their order. Times are nanoseconds from the run's start on the worker. A frame has
 * a limited size: the first rows go in, the others are counted. An activity of the accelerator is 1 + its
 * node's index (0: of none that has a row), its iteration, its track and name as indices of texts, and the
 * numbers of WireTraceActivity in their order.
 *
 * Ownership: what is read lives in call->arena or points into the text.
 * Threads:   pure functions.
 * Errors:    INVALID_ARGUMENT with line and column; RESOURCE_EXHAUSTED for more rows than the arena holds.
 *            Writing fails as the Buffer does. */
#pragma once

#include "shared/wire/frame.h"

enum { WIRE_TRACE_SIZE_MAX = FRAME_JSON_SIZE_MAX - 4096 }; /* leaves room for the other statistics */

typedef struct WireTraceNode {
    Slice name;
    Slice op;
    Slice key; /* of a _Send or _Recv: the rendezvous key without the iteration; empty for other nodes */
    bool is_accelerated; /* computed by `accelerator`, not by the host */
    uint32_t told;       /* 1 + its index among the nodes that have been written; 0: not written yet */
} WireTraceNode;

typedef struct WireTraceIteration {
    uint32_t frame;
    uint32_t around;
    uint64_t number;
} WireTraceIteration;

typedef struct WireTraceRow {
    uint32_t node;
    uint32_t iteration;
    uint64_t scheduled_ns;
    uint64_t start_ns;
    uint64_t end_ns;
    uint64_t thread; /* a small number */
    uint64_t output_bytes;
    uint64_t allocated_bytes; /* of output_bytes, those in newly allocated buffers */
    uint64_t scratch_bytes;
    uint64_t device_bytes; /* in use on the device when the node ended; 0: not known */
    uint64_t was_pulled;   /* 1 for a Recv that had to ask for its value */
    Slice key;             /* of a _Send or _Recv: the whole rendezvous key, which reading makes */
} WireTraceRow;

/* A kernel or a copy of the accelerator's. */
typedef struct WireTraceActivity {
    bool has_node;
    uint32_t node;
    uint32_t iteration;
    uint64_t track; /* of device_texts, as the name is */
    uint64_t name;
    uint64_t start_ns;
    uint64_t end_ns;
    uint64_t bytes;
    uint64_t captured; /* the piece of captured work; 0: it was not captured */
    uint64_t grid[3];  /* 0: it is no kernel */
    uint64_t block[3];
} WireTraceActivity;

typedef struct WireTrace {
    uint64_t elapsed_ns;
    uint64_t left_out_count;           /* nodes that ran and have no row */
    uint64_t left_out_iteration_count; /* iterations that have no row */
    Slice accelerator;                 /* "/device:GPU:0"; empty: the host has computed all nodes */
    WireTraceNode *nodes;
    size_t node_count;
    Slice *frames; /* names of loops */
    size_t frame_count;
    WireTraceIteration *iterations; /* the first has the number 1 */
    size_t iteration_count;
    WireTraceRow *rows;
    size_t row_count;
    Slice device_source;            /* who tells of the activities; empty: there are none */
    uint64_t device_left_out_count; /* activities that are not told */
    Slice *device_texts;
    size_t device_text_count;
    WireTraceActivity *activities;
    size_t activity_count;
} WireTrace;

/* the first one has the number 1 */
void wire_trace_write(Buffer *buffer, WireTrace *trace);
MUST_USE Status wire_trace_read(Call *call, Slice json, WireTrace *ret_trace);

/* Appends "outer:3/inner:17", or nothing for a node outside of loops. */
void wire_trace_path(const WireTrace *trace, uint32_t iteration, Buffer *ret_path);
