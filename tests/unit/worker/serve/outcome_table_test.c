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

static OutcomeClaim
claim_of(Slice tenant, const char *step)
{
    OutcomeClaim claim = {.holder = 1};
    assert_true(outcome_key(tenant, slice_from_string(step), 0, &claim.key));
    return claim;
}

static OutcomeKey
key_of(const char *step)
{
    return claim_of(TENANT, step).key;
}

static OutcomeAnswer
claim(OutcomeTable *table, const char *step, uint64_t began_ns, RunEnd *ret_end)
{
    OutcomeClaim made = claim_of(TENANT, step);
    made.began_ns = began_ns;
    return outcome_table_claim(table, &made, ret_end);
}

/* Claims as the holder of this number. */
static OutcomeAnswer
claim_as(OutcomeTable *table, int64_t holder)
{
    RunEnd end;
    OutcomeClaim made = claim_of(TENANT, "stp_1");
    made.holder = holder;
    made.binding = SLICE("the slots");
    return outcome_table_claim(table, &made, &end);
}

/* Asks as the holder of this number; *ret_is_bound says whether the binding was told. */
static OutcomeAnswer
ask_as(OutcomeTable *table, int64_t holder, bool *ret_is_bound)
{
    AUTO_BUFFER binding = {0};
    OutcomeClaim made = claim_of(TENANT, "stp_1");
    made.holder = holder;
    made.began_ns = 50;
    OutcomeAnswer answer = outcome_table_ask(table, &made, 60, &binding);
    *ret_is_bound = slice_equals_string(buffer_slice(&binding), "the slots");
    return answer;
}

static void
an_outcome_is_told_with_its_outputs_to_whoever_asks_again(void **state)
{
    OutcomeTable *table = outcome_table_new();
    OutcomeKey key = key_of("stp_1");
    OutcomeClaim other = claim_of(SLICE("other"), "stp_1");
    RunEnd end = {.stats.node_count = 7};
    (void)state;
    assert_int_equal(claim(table, "stp_1", 0, &end), OUTCOME_FRESH);
    assert_int_equal(claim(table, "stp_1", 0, &end), OUTCOME_RUNNING);
    end.outputs = output_of(3);
    outcome_table_end(table, &key, 100, &end);
    for (int turn = 0; turn < 2; turn++) {
        RunEnd told = {0};
        assert_int_equal(claim(table, "stp_1", 50, &told), OUTCOME_ENDED);
        assert_int_equal(told.stats.node_count, 7);
        assert_int_equal(tensor_byte_size(&told.outputs->tensor), 12);
        assert_null(told.outputs->next);
        run_outputs_free(told.outputs);
    }
    assert_int_equal(outcome_table_claim(table, &other, &end), OUTCOME_FRESH);
    outcome_table_withdraw(table, &other.key);
    outcome_table_free(table);
}

static void
a_claim_that_was_withdrawn_is_free(void **state)
{
    OutcomeTable *table = outcome_table_new();
    OutcomeKey key = key_of("stp_1");
    RunEnd end;
    (void)state;
    assert_int_equal(claim(table, "stp_1", 0, &end), OUTCOME_FRESH);
    outcome_table_withdraw(table, &key);
    assert_int_equal(claim(table, "stp_1", 50, &end), OUTCOME_FRESH);
    outcome_table_free(table);
}

static void
large_outputs_are_told_to_be_missing(void **state)
{
    OutcomeTable *table = outcome_table_new();
    OutcomeKey key = key_of("stp_1");
    RunEnd end = {0};
    (void)state;
    assert_int_equal(claim(table, "stp_1", 0, &end), OUTCOME_FRESH);
    end.outputs = output_of(OUTCOME_SIZE_MAX);
    outcome_table_end(table, &key, 100, &end);
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
        OutcomeKey key = key_of(step);
        outcome_table_end(table, &key, (uint64_t)index + 1, &end);
    }
    assert_int_equal(claim(table, "stp_0", 1, &end), OUTCOME_FORGOTTEN);
    assert_int_equal(claim(table, "new", OUTCOME_COUNT_MAX, &end), OUTCOME_FRESH);
    assert_int_equal(claim(table, step, 1, &end), OUTCOME_ENDED);
    outcome_table_free(table);
}

static void
a_slot_that_was_asked_for_is_closed_to_earlier_holders(void **state)
{
    OutcomeTable *table = outcome_table_new();
    OutcomeKey key = key_of("stp_1");
    bool is_bound = false;
    (void)state;
    assert_int_equal(ask_as(table, 3, &is_bound), OUTCOME_FRESH);
    assert_int_equal(ask_as(table, 2, &is_bound), OUTCOME_FRESH);
    assert_int_equal(claim_as(table, 2), OUTCOME_CLOSED);
    assert_int_equal(claim_as(table, 3), OUTCOME_FRESH);
    outcome_table_withdraw(table, &key);
    assert_int_equal(claim_as(table, 2), OUTCOME_CLOSED);
    assert_int_equal(claim_as(table, 4), OUTCOME_FRESH);
    outcome_table_end(table, &key, 100, &(RunEnd){0});
    outcome_table_free(table);
}

static void
who_asks_for_a_slot_is_told_where_the_others_run(void **state)
{
    OutcomeTable *table = outcome_table_new();
    OutcomeKey key = key_of("stp_1");
    bool is_bound = false;
    (void)state;
    assert_int_equal(claim_as(table, 1), OUTCOME_FRESH);
    assert_int_equal(ask_as(table, 2, &is_bound), OUTCOME_RUNNING);
    assert_true(is_bound);
    outcome_table_end(table, &key, 100, &(RunEnd){0});
    assert_int_equal(ask_as(table, 3, &is_bound), OUTCOME_ENDED);
    assert_true(is_bound);
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
        cmocka_unit_test(a_slot_that_was_asked_for_is_closed_to_earlier_holders),
        cmocka_unit_test(who_asks_for_a_slot_is_told_where_the_others_run),
    };
    return cmocka_run_group_tests_name("worker/serve/outcome_table", tests, NULL, NULL);
}
