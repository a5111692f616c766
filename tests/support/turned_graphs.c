#include "tests/support/turned_graphs.h"

#include "tests/support/cmocka_all.h"
#include "tests/support/tensor_literals.h"

enum { RUNS = 3 }; /* the third of equal shapes is captured */

static const ScheduleNode *
find_node(const Partition *partition, const char *name)
{
    for (uint32_t id = 0; id < partition->node_count; id++) {
        if (slice_equals_string(partition->nodes[id].node->name, name)) {
            return &partition->nodes[id];
        }
    }
    return NULL;
}

static bool
is_turned(const Partition *partition, const char *name)
{
    const ScheduleNode *node = find_node(partition, name);
    return node != NULL && node->node->is_channels_last;
}

/* Returns how many transposes a run computes. */
static int
count_transposes(const Partition *partition)
{
    int count = 0;
    for (uint32_t id = 0; id < partition->node_count; id++) {
        const ScheduleNode *node = &partition->nodes[id];
        Slice op = node->node->op->name;
        count += node->kind == SCHEDULE_KERNEL &&
                 (slice_equals_string(op, "onnx::Transpose") || slice_equals_string(op, "Transpose"));
    }
    return count;
}

static void
run_graph(RunFixture *fixture, Partition *partition, const TurnedGraph *graph, RunOutcome *outcome)
{
    Tensor args[TURNED_FEEDS_MAX];
    uint32_t count = 0;
    while (count < TURNED_FEEDS_MAX && graph->feeds[count] != NULL) {
        args[count] = tensor_literal(graph->feeds[count]);
        count++;
    }
    *outcome = (RunOutcome){0};
    fixture_run(fixture, partition, NULL, args, count, outcome);
}

void
turned_graph_compare(RunFixture *fixture, const TurnedGraph *graph, bool is_exact)
{
    AUTO_PARTITION partition = fixture_compile(fixture, graph->graph);
    AUTO_PARTITION written = fixture_compile_without(fixture, graph->graph, "channels_last");
    for (int index = 0; index < TURNED_NODES_MAX && graph->turned[index] != NULL; index++) {
        if (!is_turned(partition, graph->turned[index])) {
            fail_msg("'%s' is as it was written in\n%s", graph->turned[index], graph->graph);
        }
        assert_false(is_turned(written, graph->turned[index]));
    }
    for (int index = 0; index < TURNED_NODES_MAX && graph->written[index] != NULL; index++) {
        if (is_turned(partition, graph->written[index])) {
            fail_msg("'%s' is turned around in\n%s", graph->written[index], graph->graph);
        }
    }
    if (count_transposes(partition) != graph->transposes) {
        fail_msg(
            "%d transposes, not %d, in\n%s", count_transposes(partition), graph->transposes, graph->graph);
    }
    for (int round = 0; round < RUNS; round++) {
        RunOutcome turned;
        RunOutcome expected;
        run_graph(fixture, partition, graph, &turned);
        run_graph(fixture, written, graph, &expected);
        assert_string_equal(expected.message, "");
        assert_string_equal(turned.message, "");
        for (int index = 0; index < OUTCOME_OUTPUTS_MAX && expected.outputs[index].dtype != DTYPE_INVALID;
             index++) {
            const Tensor *output = &turned.outputs[index];
            assert_true(is_exact ? tensor_equal(output, &expected.outputs[index])
                                 : tensor_is_close(output, &expected.outputs[index],
                                       RUNS * tensor_distance_max(output->dtype)));
        }
        outcome_clear(&turned);
        outcome_clear(&expected);
    }
    partition_unref(TAKE(partition));
    partition_unref(TAKE(written));
}
