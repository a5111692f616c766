/* Admission by itself: room, lines, priorities, quotas, and what is told and adopted. */
#include "tests/support/cmocka_all.h"

#include "gateway/admission/admission.h"
#include "tests/support/fail_alloc.h"

enum { STEPS = 64, WAITING_MAX = 32 };

typedef struct Fixture {
    Loop *loop;
    Admission *admission;
    AdmissionLane *lane;
    AdmissionTicket tickets[STEPS];
    int woken;
    int granted[STEPS]; /* numbers of tickets, in the order in which they were granted */
    int granted_count;
} Fixture;

static Fixture fixture;

static void
wake(void *context)
{
    ((Fixture *)context)->woken++;
}

static void
note_granted(AdmissionTicket *ticket)
{
    fixture.granted[fixture.granted_count++] = (int)(ticket - fixture.tickets);
}

static TenantId
tenant(int number)
{
    return (TenantId){{.bytes = {(unsigned char)number}}};
}

/* Adopts slots, and terms for the tenants 1 and 2: weights 2 and 1, as many running steps. */
static void
adopt(double slots, int64_t running_max)
{
    AdmissionTerms terms[] = {
        {.id = tenant(1), .weight = 2, .part = 1, .running_max = running_max, .reserve = running_max},
        {.id = tenant(2), .weight = 1, .part = 1, .running_max = running_max, .reserve = running_max},
    };
    AdmissionGrant grant = {.slots = slots,
        .pool_slots = slots,
        .gateway_count = 1,
        .tenants = terms,
        .tenant_count = COUNT_OF(terms)};
    admission_adopt(fixture.admission, &grant);
}

static AdmissionAnswer
enter_as(int number, int of_tenant, int priority, uint64_t estimate_ns)
{
    fixture.tickets[number] =
        (AdmissionTicket){.granted = note_granted, .priority = priority, .estimate_ns = estimate_ns};
    list_init(&fixture.tickets[number].link);
    return admission_enter(fixture.lane, &fixture.tickets[number], tenant(of_tenant));
}

/* Enters with a step that takes a whole slot. */
static AdmissionAnswer
enter(int number, int of_tenant)
{
    return enter_as(number, of_tenant, ADMISSION_PRIORITY_NORMAL, SLOT_TIME_NS);
}

static void
leave(int number)
{
    admission_leave(&fixture.tickets[number], SLOT_TIME_NS);
    loop_turn(fixture.loop, 0);
}

/* Enters with a step of which it is known what those like it took on average. */
static AdmissionAnswer
enter_with(int number, int of_tenant, const uint64_t *average_ns)
{
    fixture.tickets[number] = (AdmissionTicket){
        .granted = note_granted, .priority = ADMISSION_PRIORITY_NORMAL, .average_ns = average_ns};
    list_init(&fixture.tickets[number].link);
    return admission_enter(fixture.lane, &fixture.tickets[number], tenant(of_tenant));
}

static int
setup(void **state)
{
    (void)state;
    Call call = {0};
    fixture = (Fixture){0};
    AdmissionOptions options = {.waiting_max = WAITING_MAX, .wake = wake, .context = &fixture};
    fixture.admission = admission_new(&options);
    assert_int_equal(loop_new(&call, &fixture.loop), STATUS_OK);
    fixture.lane = admission_lane(fixture.admission, fixture.loop);
    assert_non_null(fixture.lane);
    /* Tenants are known once they have come. */
    admission_note_pool(fixture.admission, 8);
    for (int number = 1; number <= 2; number++) {
        (void)enter(number, number);
        admission_leave(&fixture.tickets[number], 0);
    }
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    for (int number = 0; number < STEPS; number++) {
        admission_leave(&fixture.tickets[number], 0);
    }
    loop_turn(fixture.loop, 0);
    admission_free(fixture.admission);
    loop_free(fixture.loop);
    return 0;
}

static void
a_step_that_finds_a_slot_runs_at_once_and_another_waits(void **state)
{
    (void)state;
    adopt(2, 64);
    assert_int_equal(enter(0, 1), ADMISSION_RUNS);
    assert_int_equal(enter(1, 1), ADMISSION_RUNS);
    assert_int_equal(enter(2, 1), ADMISSION_WAITS);
    assert_int_equal(fixture.granted_count, 0);
    leave(0);
    assert_int_equal(fixture.granted_count, 1);
    assert_int_equal(fixture.granted[0], 2);
}

/* Slots are divided in floating point, and a full pool may seem to have a little more. */
static void
a_pool_that_is_full_but_for_rounding_is_full(void **state)
{
    (void)state;
    adopt(1 + 1e-12, 64);
    assert_int_equal(enter(0, 1), ADMISSION_RUNS);
    assert_int_equal(enter(1, 1), ADMISSION_WAITS);
}

static void
a_slot_holds_many_small_steps(void **state)
{
    (void)state;
    adopt(1, 64);
    for (int number = 0; number < 10; number++) {
        assert_int_equal(enter_as(number, 1, ADMISSION_PRIORITY_NORMAL, SLOT_TIME_NS / 10), ADMISSION_RUNS);
    }
    assert_int_equal(enter_as(10, 1, ADMISSION_PRIORITY_NORMAL, SLOT_TIME_NS / 10), ADMISSION_WAITS);
}

static void
without_a_pool_nothing_waits(void **state)
{
    (void)state;
    adopt(0, 64);
    for (int number = 0; number < 20; number++) {
        assert_int_equal(enter(number, 1), ADMISSION_RUNS);
    }
}

/* The first tenant weighs twice as much. */
static void
lines_are_served_by_weight(void **state)
{
    (void)state;
    int of_heavy = 0;
    adopt(1, 64);
    assert_int_equal(enter(0, 1), ADMISSION_RUNS);
    assert_int_equal(enter(1, 2), ADMISSION_RUNS); /* the headroom of a tenant with nothing running */
    for (int number = 2; number < 32; number++) {
        assert_int_equal(enter(number, 1 + number % 2), ADMISSION_WAITS);
    }
    leave(0);
    leave(1);
    for (int turn = 0; turn < 17; turn++) {
        leave(fixture.granted[turn]);
    }
    for (int turn = 0; turn < 18; turn++) {
        of_heavy += fixture.granted[turn] % 2 == 0;
    }
    assert_in_range(of_heavy, 11, 13);
}

static void
a_tenant_with_nothing_running_passes_a_full_pool_once(void **state)
{
    (void)state;
    adopt(1, 64);
    assert_int_equal(enter(0, 1), ADMISSION_RUNS);
    assert_int_equal(enter(1, 1), ADMISSION_WAITS);
    assert_int_equal(enter(2, 2), ADMISSION_RUNS);
    assert_int_equal(enter(3, 2), ADMISSION_WAITS);
}

/* Priorities weigh 1, 3 and 6. */
static void
priorities_of_a_tenant_share_by_weight(void **state)
{
    (void)state;
    int counts[ADMISSION_PRIORITIES] = {0};
    adopt(1, 64);
    assert_int_equal(enter(0, 1), ADMISSION_RUNS);
    for (int number = 1; number <= 30; number++) {
        assert_int_equal(enter_as(number, 1, number % 3, SLOT_TIME_NS), ADMISSION_WAITS);
    }
    leave(0);
    for (int turn = 0; turn < 9; turn++) {
        leave(fixture.granted[turn]);
    }
    for (int turn = 0; turn < 10; turn++) {
        counts[fixture.granted[turn] % 3]++;
    }
    assert_in_range(counts[0], 1, 2);
    assert_in_range(counts[1], 2, 4);
    assert_in_range(counts[2], 5, 7);
}

static void
the_quota_of_running_steps_holds_with_slots_free(void **state)
{
    (void)state;
    adopt(8, 2);
    assert_int_equal(enter(0, 1), ADMISSION_RUNS);
    assert_int_equal(enter(1, 1), ADMISSION_RUNS);
    assert_int_equal(enter(2, 1), ADMISSION_WAITS);
    assert_int_equal(enter(3, 2), ADMISSION_RUNS);
    adopt(8, 3);
    loop_turn(fixture.loop, 0);
    assert_int_equal(fixture.granted_count, 1);
    assert_int_equal(fixture.granted[0], 2);
}

static void
a_tenant_without_terms_waits_for_them_and_asks(void **state)
{
    (void)state;
    fixture.woken = 0;
    assert_int_equal(enter(0, 3), ADMISSION_WAITS);
    assert_int_equal(fixture.woken, 0); /* it was woken for the tenants of the fixture already */
    admission_go_on(fixture.admission); /* nobody can be asked */
    loop_turn(fixture.loop, 0);
    assert_int_equal(fixture.granted_count, 1);
}

static void
a_step_that_leaves_while_it_waits_or_was_just_granted_is_not_told(void **state)
{
    (void)state;
    adopt(1, 64);
    assert_int_equal(enter(0, 1), ADMISSION_RUNS);
    assert_int_equal(enter(1, 1), ADMISSION_WAITS);
    assert_int_equal(enter(2, 1), ADMISSION_WAITS);
    assert_int_equal(enter(3, 1), ADMISSION_WAITS);
    leave(1);
    admission_leave(&fixture.tickets[0], SLOT_TIME_NS); /* grants 2 */
    admission_leave(&fixture.tickets[2], 0);            /* before the loop has heard; grants 3 */
    loop_turn(fixture.loop, 0);
    assert_int_equal(fixture.granted_count, 1);
    assert_int_equal(fixture.granted[0], 3);
}

static void
a_step_that_yields_makes_room_once(void **state)
{
    (void)state;
    adopt(1, 64);
    assert_int_equal(enter(0, 1), ADMISSION_RUNS);
    assert_int_equal(enter(1, 1), ADMISSION_WAITS);
    assert_int_equal(enter(2, 1), ADMISSION_WAITS);
    admission_yield(&fixture.tickets[0]);
    admission_yield(&fixture.tickets[0]);
    loop_turn(fixture.loop, 0);
    assert_int_equal(fixture.granted_count, 1);
    leave(0);
    assert_int_equal(fixture.granted_count, 1);
}

static void
a_line_has_an_end(void **state)
{
    (void)state;
    adopt(1, 64);
    assert_int_equal(enter(0, 1), ADMISSION_RUNS);
    for (int number = 1; number <= WAITING_MAX; number++) {
        assert_int_equal(enter(number, 1), ADMISSION_WAITS);
    }
    assert_int_equal(enter(WAITING_MAX + 1, 1), ADMISSION_FULL);
    assert_int_equal(enter(WAITING_MAX + 2, 2), ADMISSION_RUNS);
}

static void
rest(int number)
{
    admission_rest(&fixture.tickets[number], SLOT_TIME_NS);
    loop_turn(fixture.loop, 0);
}

static AdmissionAnswer
resume(int number)
{
    return admission_resume(&fixture.tickets[number]);
}

static void
a_step_that_rests_holds_no_slot_but_its_place(void **state)
{
    (void)state;
    adopt(1, 2);
    assert_int_equal(enter(0, 1), ADMISSION_RUNS);
    assert_int_equal(enter(1, 1), ADMISSION_WAITS);
    assert_false(admission_lacks_place(&fixture.tickets[1]));
    rest(0);
    assert_int_equal(fixture.granted_count, 1);
    leave(1);
    adopt(8, 1);
    assert_int_equal(enter(2, 1), ADMISSION_WAITS);
    assert_true(admission_lacks_place(&fixture.tickets[2]));
    leave(0);
    assert_int_equal(fixture.granted_count, 2);
    assert_false(admission_lacks_place(&fixture.tickets[2]));
}

static void
a_step_that_goes_on_waits_for_a_slot_but_not_for_a_place(void **state)
{
    (void)state;
    adopt(1, 1);
    assert_int_equal(enter(0, 1), ADMISSION_RUNS);
    rest(0);
    assert_int_equal(enter(1, 2), ADMISSION_RUNS);
    assert_int_equal(resume(0), ADMISSION_WAITS);
    assert_false(admission_lacks_place(&fixture.tickets[0]));
    leave(1);
    assert_int_equal(fixture.granted_count, 1);
    assert_int_equal(fixture.granted[0], 0);
    rest(0);
    assert_int_equal(resume(0), ADMISSION_RUNS);
}

static void
those_that_go_on_come_before_those_of_their_tenant_that_begin(void **state)
{
    (void)state;
    adopt(1, 64);
    assert_int_equal(enter(0, 1), ADMISSION_RUNS);
    rest(0);
    assert_int_equal(enter(1, 2), ADMISSION_RUNS);
    assert_int_equal(enter(2, 1), ADMISSION_WAITS);
    assert_int_equal(resume(0), ADMISSION_WAITS);
    leave(1);
    leave(0);
    assert_int_equal(fixture.granted_count, 2);
    assert_int_equal(fixture.granted[0], 0);
    assert_int_equal(fixture.granted[1], 2);
}

static void
a_tenant_whose_steps_all_rest_passes_a_full_pool_once(void **state)
{
    (void)state;
    adopt(1, 64);
    assert_int_equal(enter(0, 1), ADMISSION_RUNS);
    admission_rest(&fixture.tickets[0], 0);
    assert_int_equal(enter(1, 2), ADMISSION_RUNS);
    assert_int_equal(resume(0), ADMISSION_RUNS);
    assert_int_equal(enter(2, 1), ADMISSION_WAITS);
}

/* Begins step 0 and lets it wait to go on, as step 1 of its tenant has the one slot. */
static void
wait_to_go_on(void)
{
    assert_int_equal(enter(0, 1), ADMISSION_RUNS);
    rest(0);
    assert_int_equal(enter(1, 1), ADMISSION_RUNS);
    assert_int_equal(resume(0), ADMISSION_WAITS);
}

static void
a_step_that_rests_can_leave_in_every_state(void **state)
{
    (void)state;
    adopt(1, 64);
    assert_int_equal(enter(0, 1), ADMISSION_RUNS);
    rest(0);
    leave(0); /* at rest */
    wait_to_go_on();
    leave(0); /* while it waits */
    leave(1);
    assert_int_equal(fixture.granted_count, 0);
    wait_to_go_on();
    admission_leave(&fixture.tickets[1], SLOT_TIME_NS); /* grants 0 */
    leave(0);                                           /* before the loop has heard */
    assert_int_equal(fixture.granted_count, 0);
    assert_int_equal(enter(0, 1), ADMISSION_RUNS);
    rest(0);
    assert_int_equal(enter(1, 1), ADMISSION_RUNS);
    admission_resume_now(&fixture.tickets[0]);
    leave(0); /* while it runs above the slots */
    assert_int_equal(enter(0, 1), ADMISSION_WAITS);
    leave(1);
    assert_int_equal(fixture.granted_count, 1); /* the pool has its one slot again, and no more */
    assert_int_equal(enter(1, 1), ADMISSION_WAITS);
}

/* Returns what is told of a tenant; zeros when nothing is. */
static AdmissionUse
told_of(Arena *arena, int of_tenant)
{
    AdmissionReport report;
    assert_true(admission_tell(fixture.admission, arena, &report));
    for (size_t index = 0; index < report.tenant_count; index++) {
        if (uuid_equal(report.tenants[index].id.value, tenant(of_tenant).value)) {
            return report.tenants[index];
        }
    }
    return (AdmissionUse){0};
}

static void
what_runs_waits_and_was_charged_is_told_once(void **state)
{
    (void)state;
    AUTO_ARENA arena = arena_new(1 << 16);
    adopt(1, 64);
    assert_int_equal(enter(0, 1), ADMISSION_RUNS);
    assert_int_equal(enter(1, 1), ADMISSION_WAITS);
    AdmissionUse use = told_of(arena, 1);
    assert_int_equal(use.running, 1);
    assert_int_equal(use.waiting, 1);
    assert_float_equal(use.held_slots, 1, 1e-9);
    assert_float_equal(use.waiting_slots, 1, 1e-9);
    assert_float_equal(use.charged_s, 0.01, 1e-9); /* the estimate of one step */
    assert_float_equal(told_of(arena, 1).charged_s, 0, 1e-9);
    admission_leave(&fixture.tickets[1], 0);
    admission_leave(&fixture.tickets[0], 3 * SLOT_TIME_NS);
    assert_float_equal(told_of(arena, 1).charged_s, 0.02, 1e-9); /* what was estimated too low */
    assert_int_equal(told_of(arena, 1).running, 0);
}

static void
each_turn_of_a_step_is_charged_what_it_used(void **state)
{
    (void)state;
    AUTO_ARENA arena = arena_new(1 << 16);
    adopt(1, 64);
    assert_int_equal(enter(0, 1), ADMISSION_RUNS);
    assert_float_equal(told_of(arena, 1).charged_s, 0.01, 1e-9); /* the estimate */
    admission_rest(&fixture.tickets[0], 3 * SLOT_TIME_NS);
    AdmissionUse use = told_of(arena, 1);
    assert_float_equal(use.charged_s, 0.02, 1e-9);
    assert_int_equal(use.running, 1);
    assert_float_equal(use.held_slots, 0, 1e-9);
    assert_int_equal(enter(1, 2), ADMISSION_RUNS);
    assert_int_equal(resume(0), ADMISSION_WAITS);
    use = told_of(arena, 1);
    assert_float_equal(use.charged_s, 0, 1e-9);
    assert_int_equal(use.running, 1);
    assert_int_equal(use.waiting, 0); /* it runs already, but for a slot */
    assert_float_equal(use.waiting_slots, 1, 1e-9);
    leave(1);
    assert_float_equal(told_of(arena, 1).charged_s, 0.01, 1e-9); /* the estimate of the next turn */
    admission_leave(&fixture.tickets[0], 4 * SLOT_TIME_NS + SLOT_TIME_NS / 2);
    assert_float_equal(told_of(arena, 1).charged_s, 0.005, 1e-9);
    assert_int_equal(told_of(arena, 1).running, 0);
}

static void
lack_of_memory_refuses_a_step_and_harms_no_other(void **state)
{
    (void)state;
    adopt(8, 64);
    fail_alloc_at = fail_alloc_count + 1;
    assert_int_equal(enter(0, 7), ADMISSION_NO_MEMORY);
    fail_alloc_at = 0;
    assert_int_equal(enter(1, 1), ADMISSION_RUNS);
}

/* Ten steps of which nothing is known: each takes a whole slot. Once one has ended, those that wait are known
 * too. */
static void
let_first_end(uint64_t took_ns)
{
    uint64_t average_ns = 0;
    adopt(2, 64);
    for (int number = 0; number < 10; number++) {
        assert_int_equal(enter_with(number, 1, &average_ns), number < 2 ? ADMISSION_RUNS : ADMISSION_WAITS);
    }
    average_ns = took_ns;
    admission_leave(&fixture.tickets[0], took_ns);
    loop_turn(fixture.loop, 0);
    for (int number = 1; number < 10; number++) {
        fixture.tickets[number].average_ns = NULL;
    }
}

static void
a_long_step_that_waited_takes_a_whole_slot_when_it_begins(void **state)
{
    (void)state;
    let_first_end(5 * SLOT_TIME_NS);
    assert_int_equal(fixture.granted_count, 1);
}

static void
small_steps_that_waited_fill_a_slot_together_when_they_begin(void **state)
{
    (void)state;
    let_first_end(SLOT_TIME_NS / 4);
    assert_int_equal(fixture.granted_count, 4);
}

int
main(void)
{
#define ADMISSION_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        ADMISSION_TEST(a_step_that_finds_a_slot_runs_at_once_and_another_waits),
        ADMISSION_TEST(a_pool_that_is_full_but_for_rounding_is_full),
        ADMISSION_TEST(a_slot_holds_many_small_steps),
        ADMISSION_TEST(a_long_step_that_waited_takes_a_whole_slot_when_it_begins),
        ADMISSION_TEST(small_steps_that_waited_fill_a_slot_together_when_they_begin),
        ADMISSION_TEST(without_a_pool_nothing_waits),
        ADMISSION_TEST(lines_are_served_by_weight),
        ADMISSION_TEST(a_tenant_with_nothing_running_passes_a_full_pool_once),
        ADMISSION_TEST(priorities_of_a_tenant_share_by_weight),
        ADMISSION_TEST(the_quota_of_running_steps_holds_with_slots_free),
        ADMISSION_TEST(a_tenant_without_terms_waits_for_them_and_asks),
        ADMISSION_TEST(a_step_that_leaves_while_it_waits_or_was_just_granted_is_not_told),
        ADMISSION_TEST(a_step_that_yields_makes_room_once),
        ADMISSION_TEST(a_line_has_an_end),
        ADMISSION_TEST(a_step_that_rests_holds_no_slot_but_its_place),
        ADMISSION_TEST(a_step_that_goes_on_waits_for_a_slot_but_not_for_a_place),
        ADMISSION_TEST(those_that_go_on_come_before_those_of_their_tenant_that_begin),
        ADMISSION_TEST(a_tenant_whose_steps_all_rest_passes_a_full_pool_once),
        ADMISSION_TEST(a_step_that_rests_can_leave_in_every_state),
        ADMISSION_TEST(each_turn_of_a_step_is_charged_what_it_used),
        ADMISSION_TEST(what_runs_waits_and_was_charged_is_told_once),
        ADMISSION_TEST(lack_of_memory_refuses_a_step_and_harms_no_other),
    };
    return cmocka_run_group_tests_name("gateway/admission/admission", tests, NULL, NULL);
}
