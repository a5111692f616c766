/* Measures how long a graph takes from its JSON to its plan: import (read, expand, link) and plan_compile(),
 * on one thread. The best of several rounds counts, since others use the machine too. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "gateway/graphs/graph_import.h"
#include "gateway/plan/plan.h"
#include "tests/bench/report.h"
#include "tests/support/large_graphs.h"

enum { ARENA_SIZE_MAX = 1 << 30, NODE_COUNT_MAX = 1 << 20, ROUNDS = 5 };

typedef struct Times {
    double import_ms;
    double plan_ms;
} Times;

static void
must(const Call *call, Status status)
{
    if (status != STATUS_OK) {
        fprintf(stderr, "plan_bench: %s\n", call->error.message);
        exit(1);
    }
}

static double
thread_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void
plan_graph(Call *call, const Graph *graph, uint32_t slot_count)
{
    SignatureFeed feed = {.name = SLICE("x"), .shape = shape_unknown()};
    Slice fetch = SLICE("y");
    Signature given = {.feeds = &feed,
        .feed_count = 1,
        .fetches = &fetch,
        .fetch_count = 1,
        .options = {
            .placement = slot_count == 1 ? PLACEMENT_LOCAL : PLACEMENT_SPREAD, .slot_count = slot_count}};
    Signature signature;
    AUTO_PLAN plan = NULL;
    must(call, signature_make(call, SLICE("bench"), &given, &signature));
    must(call, plan_compile(call, &(PlanRequest){.graph = graph, .signature = &signature}, &plan));
}

static Times
measure_round(Slice json, uint32_t slot_count)
{
    AUTO_ARENA arena = arena_new(ARENA_SIZE_MAX);
    Call call = {.arena = arena};
    TensorBuffer *source = tensor_buffer_new(json.size);
    AUTO_GRAPH graph = NULL;
    Times times = {0};
    memcpy(source->data, json.data, json.size);
    double start_ms = thread_ms();
    must(&call, graph_import(&call, GRAPH_FORMAT_JSON, source, NODE_COUNT_MAX, &graph));
    times.import_ms = thread_ms() - start_ms;
    start_ms = thread_ms();
    plan_graph(&call, graph, slot_count);
    times.plan_ms = thread_ms() - start_ms;
    tensor_buffer_unref(source);
    return times;
}

/* Returns the best import and the best plan of all rounds. */
static Times
measure(Slice json, uint32_t slot_count)
{
    Times best = measure_round(json, slot_count);
    for (int round = 1; round < ROUNDS; round++) {
        Times times = measure_round(json, slot_count);
        best.import_ms = times.import_ms < best.import_ms ? times.import_ms : best.import_ms;
        best.plan_ms = times.plan_ms < best.plan_ms ? times.plan_ms : best.plan_ms;
    }
    return best;
}

static void
write_attributes(Buffer *json, unsigned count)
{
    large_graph_attributes(json, count, 8);
}

typedef struct Case {
    const char *name;
    void (*write)(Buffer *json, unsigned count);
    unsigned count;
    uint32_t slot_count;
} Case;

static const Case cases[] = {
    {"10,000 Adds, 1 slot", large_graph_layers, 10000, 1},
    {"10,000 Adds, 2 slots", large_graph_layers, 10000, 2},
    {"10,000 Adds, 16 slots", large_graph_layers, 10000, 16},
    {"10,000 Adds, 64 slots", large_graph_layers, 10000, 64},
    {"10,000 Adds, 256 slots", large_graph_layers, 10000, 256},
    {"40,000 Adds, 256 slots", large_graph_layers, 40000, 256},
    {"Call of 8,000 arguments", large_graph_call, 8000, 1},
    {"10,000 nodes with bytes", write_attributes, 10000, 1},
    {"40,000 nodes with bytes", write_attributes, 40000, 1},
    {"While of 2,000 variables, 1 slot", large_graph_while, 2000, 1},
    {"While of 8,000 variables, 1 slot", large_graph_while, 8000, 1},
    {"While of 8,000 variables, 16 slots", large_graph_while, 8000, 16},
};

static void
run_case(const Case *row)
{
    AUTO_BUFFER json = {0};
    char name[128];
    row->write(&json, row->count);
    Times times = measure(buffer_slice(&json), row->slot_count);
    (void)snprintf(name, sizeof name, "%s: import", row->name);
    report_value(name, times.import_ms, "ms", "");
    (void)snprintf(name, sizeof name, "%s: plan", row->name);
    report_value(name, times.plan_ms, "ms", "");
}

/* Runs the cases whose name has the first argument in it, or all. */
int
main(int argc, char **argv)
{
    for (size_t index = 0; index < COUNT_OF(cases); index++) {
        if (argc < 2 || strstr(cases[index].name, argv[1]) != NULL) {
            run_case(&cases[index]);
        }
    }
    return 0;
}
