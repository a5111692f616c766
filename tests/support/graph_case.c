#include "tests/support/graph_case.h"

#include "tests/support/cmocka_all.h"
#include "tests/support/tensor_literals.h"

static void
check_fetches(const GraphCase *graph_case, const RunOutcome *outcome)
{
    for (int index = 0; index < outcome->output_count; index++) {
        AUTO_TENSOR expected = tensor_literal(graph_case->fetches[index]);
        if (!tensor_is_near(&outcome->outputs[index], &expected, tensor_tolerance(expected.dtype))) {
            fail_msg("fetch %d of\n%s", index, graph_case->graph);
        }
    }
}

static void
check_outcome(const GraphCase *graph_case, const RunOutcome *outcome)
{
    if (graph_case->error == NULL) {
        if (outcome->code != STATUS_OK) {
            fail_msg("'%s' from\n%s", outcome->message, graph_case->graph);
        }
        check_fetches(graph_case, outcome);
        return;
    }
    if (strcmp(outcome->message, graph_case->error) != 0) {
        fail_msg("'%s' instead of '%s' from\n%s", outcome->message, graph_case->error, graph_case->graph);
    }
    assert_int_equal(outcome->code, graph_case->error_code);
}

static void
run(RunFixture *fixture, const RunRequest *request, RunOutcome *outcome)
{
    assert_status(&fixture->call, STATUS_OK, run_start(&fixture->call, request, NULL));
    outcome_wait(outcome);
}

static void
run_case(RunFixture *fixture, ResourceContainer *session, const GraphCase *graph_case)
{
    Tensor feeds[GRAPH_CASE_TENSORS_MAX];
    uint32_t count = 0;
    for (; count < GRAPH_CASE_TENSORS_MAX && graph_case->feeds[count] != NULL; count++) {
        feeds[count] = tensor_literal(graph_case->feeds[count]);
    }
    Partition *partition = fixture_compile(fixture, graph_case->graph);
    RunOutcome outcome = {0};
    RunRequest request = {
        .partition = partition,
        .args = feeds,
        .arg_count = count,
        .container = session,
        .callbacks = outcome_callbacks(&outcome),
    };
    run(fixture, &request, &outcome);
    check_outcome(graph_case, &outcome);
    outcome_clear(&outcome);
    partition_unref(partition);
}

void
graph_cases_run_in(RunFixture *fixture, const GraphCase *cases, size_t count)
{
    ResourceContainer *session = container_new();
    assert_non_null(session);
    for (size_t index = 0; index < count; index++) {
        run_case(fixture, session, &cases[index]);
    }
    container_unref(session);
}

void
graph_cases_run(const GraphCase *cases, size_t count)
{
    RunFixture fixture;
    fixture_begin(&fixture, 2);
    graph_cases_run_in(&fixture, cases, count);
    fixture_end(&fixture);
}
