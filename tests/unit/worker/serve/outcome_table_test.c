#include "worker/serve/outcome_table.h"

#include <stdio.h>

#include "shared/base/memory.h"
#include "tests/support/cmocka_all.h"

#define TENANT SLICE("tenant")

static RunOutput *
output_of(int64_t count)
{
    RunOutput *output = memory_new(1, sizeof *output);
    Shape shape = {.rank = 1, .dims = {count}};
    assert_non_null(output);
    assert_true(tensor_new(DTYPE_FLOAT32, &shape, &output->tensor));
    return output;
}

static OutcomeAnswer
claim(OutcomeTable *table, const char *step, uint64_t began_ns, RunEnd *ret_end)
{
    return outcome_table_claim(table, TENANT, slice_from_string(step), began_ns, ret_end);
}

static void
an_outcome_is_told_with_its_outputs_to_whoever_asks_again(void **state)
{
    OutcomeTable *table = outcome_table_new();
    RunEnd end = {.stats.node_count = 7};
    (void)state;
    assert_int_equal(claim(table, "stp_1", 0, &end), OUTCOME_FRESH);
    assert_int_equal(claim(table, "stp_1", 0, &end), OUTCOME_RUNNING);
    end.outputs = output_of(3);
    outcome_table_end(table, TENANT, SLICE("stp_1"), 100, &end);
    for (int turn = 0; turn < 2; turn++) {
        RunEnd told = {0};
        assert_int_equal(claim(table, "stp_1", 50, &told), OUTCOME_ENDED);
        assert_int_equal(told.stats.node_count, 7);
        assert_int_equal(tensor_byte_size(&told.outputs->tensor), 12);
        assert_null(told.outputs->next);
        run_outputs_free(told.outputs);
    }
    assert_int_equal(outcome_table_claim(table, SLICE("other"), SLICE("stp_1"), 0, &end), OUTCOME_FRESH);
    outcome_table_withdraw(table, SLICE("other"), SLICE("stp_1"));
    outcome_table_free(table);
}

static void
a_claim_that_was_withdrawn_is_free(void **state)
{
    OutcomeTable *table = outcome_table_new();
    RunEnd end;
    (void)state;
    assert_int_equal(claim(table, "stp_1", 0, &end), OUTCOME_FRESH);
    outcome_table_withdraw(table, TENANT, SLICE("stp_1"));
    assert_int_equal(claim(table, "stp_1", 50, &end), OUTCOME_FRESH);
    outcome_table_free(table);
}

static void
large_outputs_are_told_to_be_missing(void **state)
{
    OutcomeTable *table = outcome_table_new();
    RunEnd end = {0};
    (void)state;
    assert_int_equal(claim(table, "stp_1", 0, &end), OUTCOME_FRESH);
    end.outputs = output_of(OUTCOME_SIZE_MAX);
    outcome_table_end(table, TENANT, SLICE("stp_1"), 100, &end);
    assert_int_equal(claim(table, "stp_1", 0, &end), OUTCOME_ENDED);
    assert_true(end.lacks_outputs);
    assert_null(end.outputs);
    outcome_table_free(table);
}

/* A step that began before the end of one that was forgotten may be that one. */
static void
what_may_have_been_forgotten_is_not_fresh(void **state)
{
    OutcomeTable *table = outcome_table_new();
    RunEnd end = {0};
    char step[32];
    (void)state;
    for (int index = 0; index < OUTCOME_COUNT_MAX + 2; index++) {
        (void)snprintf(step, sizeof step, "stp_%d", index);
        assert_int_equal(claim(table, step, 0, &end), OUTCOME_FRESH);
        outcome_table_end(table, TENANT, slice_from_string(step), (uint64_t)index + 1, &end);
    }
    assert_int_equal(claim(table, "stp_0", 1, &end), OUTCOME_FORGOTTEN);
    assert_int_equal(claim(table, "new", OUTCOME_COUNT_MAX, &end), OUTCOME_FRESH);
    assert_int_equal(claim(table, step, 1, &end), OUTCOME_ENDED);
    outcome_table_free(table);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_outcome_is_told_with_its_outputs_to_whoever_asks_again),
        cmocka_unit_test(a_claim_that_was_withdrawn_is_free),
        cmocka_unit_test(large_outputs_are_told_to_be_missing),
        cmocka_unit_test(what_may_have_been_forgotten_is_not_fresh),
    };
    return cmocka_run_group_tests_name("worker/serve/outcome_table", tests, NULL, NULL);
}
