/* Compiles a partition (GraphDef JSON with one scalar _Arg and one scalar _Retval, both float32) for one
 * thread, and runs it, fed 1, as often as each line of standard input says. Each line is answered with
 * "nanoseconds a run<TAB>value of the last<TAB>runs of nodes in it". The driver keeps one such program for
 * each graph, so that rounds can go through all systems in turn.
 *
 *     graph_runs FILE */
#include <stdio.h>
#include <stdlib.h>

#include "shared/base/clock.h"
#include "shared/formats/graphdef_json.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/files.h"
#include "tests/support/partition_runs.h"
#include "worker/runtime/partition/compile.h"

enum { LINE_SIZE = 32, ARENA_SIZE = 64 * 1024 * 1024 };

static void
must(const Call *call, Status status)
{
    if (status != STATUS_OK) {
        (void)fprintf(stderr, "graph_runs: %s\n", call->error.message);
        exit(1);
    }
}

static Partition *
compile(RunFixture *fixture, const char *path)
{
    Call call = {.arena = arena_new(ARENA_SIZE)};
    MissingBlobs missing = {0};
    AUTO_GRAPH_DEF def = NULL;
    Partition *partition = NULL;
    TensorBuffer *text = file_read(path);
    must(&call, graphdef_json_read(&call, (Slice){.data = text->data, .size = text->size}, &def));
    must(&call, partition_compile(&call, def, device_alone(fixture->device), NULL, &missing, &partition));
    tensor_buffer_unref(text);
    arena_free(call.arena);
    return partition;
}

static float
run_once(RunFixture *fixture, Partition *partition, uint64_t *ret_node_count)
{
    RunOutcome outcome = {0};
    Shape scalar = {0};
    Tensor arg = fixture_floats(fixture, &scalar, (const float[]){1});
    fixture_run(fixture, partition, NULL, &arg, 1, &outcome);
    if (outcome.code != STATUS_OK || outcome.output_count != 1) {
        (void)fprintf(stderr, "graph_runs: %s\n", outcome.message);
        exit(1);
    }
    float value = tensor_float(&outcome.outputs[0], 0);
    *ret_node_count = outcome.stats.node_count;
    outcome_clear(&outcome);
    return value;
}

static void
answer(RunFixture *fixture, Partition *partition, uint64_t count)
{
    float value = 0;
    uint64_t node_count = 0;
    uint64_t start_ns = clock_monotonic_ns();
    for (uint64_t index = 0; index < count; index++) {
        value = run_once(fixture, partition, &node_count);
    }
    double elapsed_ns = (double)(clock_monotonic_ns() - start_ns);
    (void)printf(
        "%.1f\t%.9g\t%llu\n", elapsed_ns / (double)count, (double)value, (unsigned long long)node_count);
    (void)fflush(stdout);
}

int
main(int argc, char **argv)
{
    char line[LINE_SIZE];
    RunFixture fixture;
    if (argc != 2) {
        (void)fprintf(stderr, "usage: graph_runs FILE\n");
        return 2;
    }
    fixture_begin(&fixture, 1);
    Partition *partition = compile(&fixture, argv[1]);
    while (fgets(line, sizeof line, stdin) != NULL) {
        answer(&fixture, partition, strtoull(line, NULL, 10));
    }
    partition_unref(partition);
    fixture_end(&fixture);
    return 0;
}
