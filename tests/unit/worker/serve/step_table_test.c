#include <pthread.h>

#include "shared/base/clock.h"
#include "tests/support/call_fixture.h"
#include "tests/support/fail_alloc.h"
#include "worker/serve/step_table.h"

static const uint64_t now_ns = 1000 * CLOCK_NS_PER_S;

static StepClaim
claim_of(const char *step, int64_t slot, int64_t attempt)
{
    return (StepClaim){
        .step = slice_from_string(step),
        .slot = slot,
        .attempt = attempt,
        .push_token = SLICE("secret"),
        .now_ns = now_ns,
    };
}

static StepEntry *
enter(Call *call, StepTable *table, StepClaim claim)
{
    StepEntry *entry = NULL;
    assert_int_equal(step_table_enter(call, table, &claim, &entry), STATUS_OK);
    return entry;
}

static bool
is_aborted(Call *call, const StepEntry *entry)
{
    return rendezvous_deliver(call, entry->rendezvous, SLICE("a;b;c;0:0"), NULL, true) == STATUS_ABORTED;
}

static void
all_messages_of_an_attempt_share_one_entry(void **state)
{
    StepTable *table = step_table_new();
    StepEntry *pushed = enter(*state, table, claim_of("s", 0, 1));
    StepEntry *run = enter(*state, table, claim_of("s", 0, 1));
    StepEntry *other = enter(*state, table, claim_of("s", 1, 1));
    assert_ptr_equal(pushed, run);
    assert_ptr_not_equal(run, other);
    assert_int_equal(step_table_count(table), 1);
    step_entry_unref(pushed);
    step_entry_unref(run);
    step_entry_unref(other);
    step_table_free(table);
}

static void
a_wrong_push_token_is_refused(void **state)
{
    Call *call = *state;
    StepTable *table = step_table_new();
    step_entry_unref(enter(call, table, claim_of("s", 0, 1)));
    StepClaim wrong = claim_of("s", 0, 1);
    StepEntry *entry = NULL;
    wrong.push_token = SLICE("guess");
    assert_int_equal(step_table_enter(call, table, &wrong, &entry), STATUS_PERMISSION_DENIED);
    assert_string_equal(call->error.message, "wrong push token");
    assert_null(entry);
    assert_null(step_table_find(table, &wrong));
    step_table_free(table);
}

static void
a_later_attempt_ends_the_one_before(void **state)
{
    Call *call = *state;
    StepTable *table = step_table_new();
    StepEntry *first = enter(call, table, claim_of("s", 0, 1));
    StepEntry *second = enter(call, table, claim_of("s", 0, 2));
    assert_ptr_not_equal(first, second);
    assert_true(is_aborted(call, first));
    assert_false(is_aborted(call, second));
    StepEntry *late = NULL;
    StepClaim claim = claim_of("s", 0, 1);
    assert_int_equal(step_table_enter(call, table, &claim, &late), STATUS_ABORTED);
    assert_string_equal(call->error.message, "attempt 1 of this step is over, attempt 2 is known");
    assert_null(step_table_find(table, &claim));
    assert_int_equal(step_table_count(table), 1);
    step_entry_unref(first);
    step_entry_unref(second);
    step_table_free(table);
}

static void
only_the_exact_attempt_is_found(void **state)
{
    StepTable *table = step_table_new();
    StepEntry *entry = enter(*state, table, claim_of("s", 0, 2));
    const StepClaim claims[] = {claim_of("s", 0, 2), claim_of("s", 0, 3), claim_of("s", 0, 1),
        claim_of("s", 1, 2), claim_of("t", 0, 2)};
    StepEntry *found = step_table_find(table, &claims[0]);
    assert_ptr_equal(found, entry);
    for (size_t index = 1; index < COUNT_OF(claims); index++) {
        assert_null(step_table_find(table, &claims[index]));
    }
    step_entry_unref(found);
    step_entry_unref(entry);
    step_table_free(table);
}

static void
cleanup_ends_all_slots_and_keeps_late_messages_out(void **state)
{
    Call *call = *state;
    StepTable *table = step_table_new();
    StepEntry *zero = enter(call, table, claim_of("s", 0, 1));
    StepEntry *last = enter(call, table, claim_of("s", SLOT_COUNT_MAX - 1, 1));
    StepEntry *other = enter(call, table, claim_of("t", 0, 1));
    step_table_cleanup(table, SLICE("s"), 1);
    step_table_cleanup(table, SLICE("s"), 1);
    assert_true(is_aborted(call, zero));
    assert_true(is_aborted(call, last));
    assert_false(is_aborted(call, other));
    StepEntry *late = NULL;
    StepClaim claim = claim_of("s", 0, 1);
    assert_int_equal(step_table_enter(call, table, &claim, &late), STATUS_ABORTED);
    assert_string_equal(call->error.message, "this step is over");
    assert_null(step_table_find(table, &claim));
    step_entry_unref(zero);
    step_entry_unref(last);
    step_entry_unref(other);
    step_table_free(table);
}

static void
what_comes_after_its_cleanup_is_refused(void **state)
{
    Call *call = *state;
    StepTable *table = step_table_new();
    StepEntry *late = NULL;
    StepClaim push = claim_of("s", 0, 1);
    step_table_cleanup(table, SLICE("s"), 1);
    assert_int_equal(step_table_enter(call, table, &push, &late), STATUS_ABORTED);
    assert_int_equal(step_table_live_count(table), 0);
    step_entry_unref(enter(call, table, claim_of("s", 0, 2)));
    assert_int_equal(step_table_live_count(table), 1);
    step_table_free(table);
}

static void
a_later_attempt_keeps_the_earlier_out_of_all_slots(void **state)
{
    Call *call = *state;
    StepTable *table = step_table_new();
    StepEntry *first = enter(call, table, claim_of("s", 0, 1));
    step_entry_unref(enter(call, table, claim_of("s", 1, 2)));
    assert_true(is_aborted(call, first));
    StepEntry *late = NULL;
    StepClaim push = claim_of("s", 2, 1);
    assert_int_equal(step_table_enter(call, table, &push, &late), STATUS_ABORTED);
    step_entry_unref(first);
    step_table_free(table);
}

/* Slots come in any order; each is found again, and another step's are not touched. */
static void
a_step_may_have_all_its_slots_here(void **state)
{
    Call *call = *state;
    StepTable *table = step_table_new();
    StepEntry *entries[SLOT_COUNT_MAX];
    StepEntry *other = enter(call, table, claim_of("t", 0, 1));
    for (int64_t index = 0; index < SLOT_COUNT_MAX; index++) {
        int64_t slot = index * 37 % SLOT_COUNT_MAX;
        entries[slot] = enter(call, table, claim_of("s", slot, 1));
    }
    for (int64_t slot = 0; slot < SLOT_COUNT_MAX; slot++) {
        StepClaim claim = claim_of("s", slot, 1);
        StepEntry *found = step_table_find(table, &claim);
        assert_ptr_equal(found, entries[slot]);
        step_entry_unref(found);
    }
    step_table_cleanup(table, SLICE("s"), 1);
    for (int64_t slot = 0; slot < SLOT_COUNT_MAX; slot++) {
        assert_true(is_aborted(call, entries[slot]));
        step_entry_unref(entries[slot]);
    }
    assert_false(is_aborted(call, other));
    step_entry_unref(other);
    step_table_free(table);
}

static void
cleanup_of_an_earlier_attempt_leaves_the_present_one(void **state)
{
    StepTable *table = step_table_new();
    StepEntry *entry = enter(*state, table, claim_of("s", 0, 2));
    step_table_cleanup(table, SLICE("s"), 1);
    assert_false(is_aborted(*state, entry));
    step_entry_unref(entry);
    step_table_free(table);
}

static void
what_no_run_claims_goes_after_a_minute(void **state)
{
    Call *call = *state;
    StepTable *table = step_table_new();
    StepEntry *pushed = enter(call, table, claim_of("pushed", 0, 1));
    StepClaim claim = claim_of("run", 0, 1);
    claim.deadline_ns = now_ns + 3600 * CLOCK_NS_PER_S;
    StepEntry *run = enter(call, table, claim);
    step_table_sweep(table, now_ns + 61 * CLOCK_NS_PER_S);
    assert_true(is_aborted(call, pushed));
    assert_false(is_aborted(call, run));
    step_entry_unref(pushed);
    step_entry_unref(run);
    step_table_free(table);
}

static void
clearing_ends_every_step(void **state)
{
    StepTable *table = step_table_new();
    StepEntry *entry = enter(*state, table, claim_of("s", 0, 1));
    step_table_clear(table);
    assert_true(is_aborted(*state, entry));
    assert_int_equal(step_table_count(table), 0);
    step_entry_unref(entry);
    step_table_free(table);
}

static void
a_slot_is_run_once(void **state)
{
    StepTable *table = step_table_new();
    StepEntry *entry = enter(*state, table, claim_of("s", 0, 1));
    WireRun run = {.attempt = 1};
    TransportStep *first = transport_step_new(NULL, SLICE("s"), &run, 0);
    TransportStep *second = transport_step_new(NULL, SLICE("s"), &run, 0);
    assert_true(step_entry_attach(entry, first));
    assert_false(step_entry_attach(entry, second));
    transport_step_unref(second);
    step_entry_unref(entry);
    step_table_free(table);
}

enum { THREADS = 4, TURNS = 300 };

static void *
enter_and_clean(void *context)
{
    StepTable *table = context;
    for (int turn = 0; turn < TURNS; turn++) {
        Call call = {0};
        StepClaim claim = claim_of("shared", turn % 2, turn / 8 + 1);
        StepEntry *entry = NULL;
        if (step_table_enter(&call, table, &claim, &entry) == STATUS_OK) {
            (void)!rendezvous_deliver(&call, entry->rendezvous, SLICE("a;b;c;0:0"), NULL, true);
            step_entry_unref(entry);
        }
        step_entry_unref(step_table_find(table, &claim));
        if (turn % 16 == 0) {
            step_table_cleanup(table, SLICE("shared"), turn / 8 + 1);
        }
    }
    return NULL;
}

static void
threads_meet_in_the_table(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    StepTable *table = step_table_new();
    for (int index = 0; index < THREADS; index++) {
        assert_int_equal(pthread_create(&threads[index], NULL, enter_and_clean, table), 0);
    }
    for (int index = 0; index < THREADS; index++) {
        assert_int_equal(pthread_join(threads[index], NULL), 0);
    }
    assert_true(step_table_count(table) <= 2);
    step_table_free(table);
}

static void
without_memory_a_step_is_refused_and_nothing_leaks(void **state)
{
    for (size_t at = 1; at < 10; at++) {
        fail_alloc_count = 0;
        fail_alloc_at = at;
        StepTable *table = step_table_new();
        StepClaim claim = claim_of("s", 0, 1);
        StepEntry *entry = NULL;
        Status status =
            table == NULL ? STATUS_RESOURCE_EXHAUSTED : step_table_enter(*state, table, &claim, &entry);
        fail_alloc_at = 0;
        assert_true((status == STATUS_OK) == (entry != NULL));
        step_entry_unref(entry);
        step_table_free(table);
    }
}

static void
many_steps_that_are_over_take_no_more_than_their_share(void **state)
{
    enum { EXTRA = 3 };
    Call *call = *state;
    StepTable *table = step_table_new();
    char name[24];
    for (int index = 0; index < TOMBSTONE_COUNT_MAX + EXTRA; index++) {
        (void)snprintf(name, sizeof name, "s%d", index);
        step_entry_unref(enter(call, table, claim_of(name, 0, 1)));
        step_table_cleanup(table, slice_from_string(name), 1);
    }
    assert_int_equal(step_table_count(table), TOMBSTONE_COUNT_MAX);
    assert_int_equal(step_table_live_count(table), 0);
    StepEntry *late = NULL;
    StepClaim youngest = claim_of(name, 0, 1);
    assert_int_equal(step_table_enter(call, table, &youngest, &late), STATUS_ABORTED);
    step_entry_unref(enter(call, table, claim_of("s0", 0, 1))); /* the oldest is forgotten */
    assert_int_equal(step_table_live_count(table), 1);
    step_table_free(table);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CALL_TEST(all_messages_of_an_attempt_share_one_entry),
        CALL_TEST(a_wrong_push_token_is_refused),
        CALL_TEST(a_later_attempt_ends_the_one_before),
        CALL_TEST(only_the_exact_attempt_is_found),
        CALL_TEST(cleanup_ends_all_slots_and_keeps_late_messages_out),
        CALL_TEST(what_comes_after_its_cleanup_is_refused),
        CALL_TEST(a_later_attempt_keeps_the_earlier_out_of_all_slots),
        CALL_TEST(a_step_may_have_all_its_slots_here),
        CALL_TEST(cleanup_of_an_earlier_attempt_leaves_the_present_one),
        CALL_TEST(what_no_run_claims_goes_after_a_minute),
        CALL_TEST(many_steps_that_are_over_take_no_more_than_their_share),
        CALL_TEST(clearing_ends_every_step),
        CALL_TEST(a_slot_is_run_once),
        CALL_TEST(threads_meet_in_the_table),
        CALL_TEST(without_memory_a_step_is_refused_and_nothing_leaks),
    };
    return cmocka_run_group_tests_name("serve/step_table", tests, NULL, NULL);
}
