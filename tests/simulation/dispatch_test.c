/* Dispatch among fake workers that are slow, forget, restart, die and lose messages: one thread, a clock
 * of the test's own, all of it by chance from one seed.
 *
 *     SLUICE_SEED=… build/release/tests/simulation/dispatch_test     plays one seed again
 *
 * A step always ends once, in time, with each output at most once; one that is not pure begins at most
 * once; its error is a node's own, never a consequence elsewhere. */
#include <stdlib.h>

#include "shared/base/random.h"
#include "shared/base/text.h"
#include "tests/simulation/world.h"

enum { SEEDS = 40 };

static void
step_check(const FakeStep *step, size_t number)
{
    CHECK(step->done_count == 1, "step %zu has ended %d times", number, step->done_count);
    CHECK(step->end_ns <= step->deadline_ns + (DEADLINE_GRACE_MS + 2) * CLOCK_NS_PER_MS,
        "step %zu has ended %llu ms too late", number,
        (unsigned long long)((step->end_ns - step->deadline_ns) / CLOCK_NS_PER_MS));
    for (size_t slot = 0; slot < step->slot_count; slot++) {
        CHECK(step->outputs[slot] <= 1, "step %zu has handed on output %zu twice", number, slot);
        CHECK(step->status != STATUS_OK || step->outputs[slot] == 1, "step %zu is OK without output %zu",
            number, slot);
        CHECK(step->is_pure || step->begun[slot] <= 1, "step %zu is not pure and began %d times", number,
            step->begun[slot]);
    }
    CHECK(step->status != STATUS_OK || step->failing_slot < 0, "step %zu is OK though a node failed", number);
    CHECK(step->status != STATUS_INTERNAL, "step %zu ended with INTERNAL", number);
    CHECK(step->status != STATUS_CANCELLED || step->cancel_ns == UINT64_MAX, "nobody cancelled step %zu",
        number);
    CHECK(step->status != STATUS_INVALID_ARGUMENT || step->failing_slot >= 0, "no node of step %zu failed",
        number);
}

/* Plays the seed of SLUICE_SEED, or several seeds of which the last is new each time. */
static void
play_seeds(const Weather *weather, void (*check)(void))
{
    uint64_t asked = 0;
    const char *text = getenv("SLUICE_SEED");
    bool is_asked = text != NULL && slice_to_uint64(slice_from_string(text), &asked);
    for (uint64_t turn = 1; turn <= (is_asked ? 1 : SEEDS); turn++) {
        chance_begin(is_asked ? asked : turn < SEEDS ? turn : random_uint64());
        world_open(weather);
        world_play();
        for (size_t index = 0; index < STEPS; index++) {
            step_check(&world.steps[index], index);
        }
        if (check != NULL) {
            check();
        }
        world_close();
    }
    print_message("the last seed was SLUICE_SEED=%llu\n", (unsigned long long)chance_seed);
}

static void
check_causes(void)
{
    for (size_t index = 0; index < STEPS; index++) {
        const FakeStep *step = &world.steps[index];
        Status wanted = step->failing_slot >= 0 ? STATUS_INVALID_ARGUMENT : STATUS_OK;
        CHECK(step->status == wanted && step->attempt == 1, "step %zu ended as %s in attempt %lld", index,
            status_name(step->status), (long long)step->attempt);
    }
}

static void
in_fair_weather_every_step_ends_at_once_with_its_own_result(void **state)
{
    (void)state;
    play_seeds(&(Weather){0}, check_causes);
}

static void
check_late(void)
{
    for (size_t index = 0; index < STEPS; index++) {
        const FakeStep *step = &world.steps[index];
        CHECK(step->hangs == (step->status == STATUS_DEADLINE_EXCEEDED), "step %zu ended as %s", index,
            status_name(step->status));
    }
}

static void
a_step_that_its_deadline_ends_says_so_whoever_hears_of_it_first(void **state)
{
    (void)state;
    play_seeds(&(Weather){.hang = 2}, check_late);
}

static void
check_most_succeed(void)
{
    int pure = 0;
    int good = 0;
    for (size_t index = 0; index < STEPS; index++) {
        const FakeStep *step = &world.steps[index];
        if (step->is_pure && step->failing_slot < 0) {
            pure++;
            good += step->status == STATUS_OK ? 1 : 0;
        }
    }
    CHECK(good * 10 >= pure * 8, "of %d pure steps only %d succeeded", pure, good);
}

/* Allows steps to fail, since a worker that forgets the same partition three times in a row is given up. */
static void
partitions_that_are_forgotten_are_registered_again(void **state)
{
    (void)state;
    play_seeds(&(Weather){.forget = 20}, check_most_succeed);
}

static void
while_workers_die_pure_steps_go_on_elsewhere(void **state)
{
    (void)state;
    play_seeds(&(Weather){.crash = 200}, check_most_succeed);
}

static void
check_pure_succeed(void)
{
    for (size_t index = 0; index < STEPS; index++) {
        const FakeStep *step = &world.steps[index];
        CHECK(!step->is_pure || step->failing_slot >= 0 || step->status == STATUS_OK, "step %zu ended as %s",
            index, status_name(step->status));
    }
}

static void
check_first_attempts(void)
{
    check_pure_succeed();
    for (size_t index = 0; index < STEPS; index++) {
        const FakeStep *step = &world.steps[index];
        CHECK(step->attempt == 1, "step %zu has taken %lld attempts", index, (long long)step->attempt);
    }
}

/* Every second or third run is refused: three attempts would not be enough for each step to hear of all. */
static void
hearing_that_workers_have_restarted_costs_no_attempt(void **state)
{
    (void)state;
    play_seeds(&(Weather){.renew = 4}, check_first_attempts);
}

/* A worker that cannot reach another one tells the gateway of it, often before the gateway notices: if the
 * teller were avoided instead of the lost one, three attempts would not be enough. */
static void
a_worker_that_only_its_peers_miss_is_avoided(void **state)
{
    (void)state;
    play_seeds(&(Weather){.lacks_one = true, .silence = 60}, check_pure_succeed);
}

static void
in_a_storm_every_step_still_ends_once_and_in_time(void **state)
{
    (void)state;
    play_seeds(&(Weather){.loss = 20, .crash = 60, .forget = 10, .cancel = 5}, NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_fair_weather_every_step_ends_at_once_with_its_own_result),
        cmocka_unit_test(a_step_that_its_deadline_ends_says_so_whoever_hears_of_it_first),
        cmocka_unit_test(partitions_that_are_forgotten_are_registered_again),
        cmocka_unit_test(while_workers_die_pure_steps_go_on_elsewhere),
        cmocka_unit_test(hearing_that_workers_have_restarted_costs_no_attempt),
        cmocka_unit_test(a_worker_that_only_its_peers_miss_is_avoided),
        cmocka_unit_test(in_a_storm_every_step_still_ends_once_and_in_time),
    };
    return cmocka_run_group_tests_name("dispatch simulation", tests, NULL, NULL);
}
