/* The choice of a worker for a slot. The step, its plan and the dispatcher are put together by hand:
 * binding reads nothing else of them. */
#include "gateway/dispatch/internals.h"
#include "gateway/dispatch/step.h"
#include "tests/support/call_fixture.h"

enum { WORKERS = 3, SLOTS = 2, GPU_MEMORY = 1 << 20 };

static PlanSlot plan_slots[SLOTS];
static const PlanPartition partitions[SLOTS] = {{.slot = 0, .digest = "d0"}, {.slot = 1, .digest = "d1"}};
static Plan plan = {.slots = plan_slots, .slot_count = SLOTS};
static Dispatcher dispatcher;
static StepRun step;
static SlotRun slot_runs[SLOTS];

static Roster *
roster_of(const WorkerState states[WORKERS])
{
    Roster *roster = roster_new(WORKERS, 0);
    assert_non_null(roster);
    for (int index = 0; index < WORKERS; index++) {
        WorkerInfo *worker = &roster->workers[index];
        worker->task = index;
        worker->state = states[index];
        (void)snprintf(worker->name, sizeof worker->name, "w%d", index);
        (void)snprintf(worker->address, sizeof worker->address, "host%d:1", index);
        (void)snprintf(worker->incarnation, sizeof worker->incarnation, "i%d", index);
    }
    return roster;
}

static void
publish(WorkerState first, WorkerState second, WorkerState third)
{
    const WorkerState states[WORKERS] = {first, second, third};
    directory_publish(dispatcher.directory, roster_of(states));
}

static int
set_up(void **state)
{
    dispatcher = (Dispatcher){.directory = directory_new()};
    assert_true(bind_open(&dispatcher));
    step = (StepRun){.dispatcher = &dispatcher, .plan = &plan, .slot_count = SLOTS, .slots = slot_runs};
    for (int index = 0; index < SLOTS; index++) {
        plan_slots[index] = (PlanSlot){.task = PLAN_TASK_NONE};
        step.slots[index] = (SlotRun){.step = &step, .partition = &partitions[index]};
    }
    publish(WORKER_SERVING, WORKER_SERVING, WORKER_SERVING);
    return call_set_up(state);
}

static int
tear_down(void **state)
{
    roster_unref(step.workers);
    bind_close(&dispatcher);
    directory_free(dispatcher.directory);
    return call_tear_down(state);
}

static const WorkerInfo *
worker(int index)
{
    return &dispatcher.workers->workers[index];
}

static void
bind(Call *call, int first, int second)
{
    assert_status(call, STATUS_OK, bind_slots(call, &step));
    assert_int_equal(step.slots[0].worker, first);
    assert_int_equal(step.slots[1].worker, second);
    assert_ptr_equal(slot_worker(&step.slots[1]), &step.workers->workers[second]);
}

static void
slots_go_to_different_workers(void **state)
{
    bind(*state, 0, 1);
}

static void
the_least_loaded_worker_comes_first(void **state)
{
    bind(*state, 0, 1);
    bind_load(&dispatcher, worker(0), 5);
    bind_load(&dispatcher, worker(1), 2);
    bind(*state, 2, 1);
    bind_load(&dispatcher, worker(0), -5);
    bind(*state, 0, 2);
}

static void
a_holder_of_the_partition_is_worth_some_load(void **state)
{
    bind(*state, 0, 1);
    bind_note_holder(&dispatcher, worker(2), &partitions[0]);
    bind(*state, 2, 0);
    bind_load(&dispatcher, worker(2), 9);
    bind(*state, 0, 1);
}

static void
what_another_loop_has_registered_counts_here_too(void **state)
{
    static Plan compiled;
    SlotReport slots[SLOTS] = {{.task = 2}, {.task = 7}};
    StepReport report = {.slot_count = SLOTS, .slots = slots};
    compiled = plan;
    compiled.partitions = partitions;
    dispatcher_note_registered(&dispatcher, &compiled, &report);
    bind(*state, 2, 0);
}

static void
a_restarted_worker_holds_nothing(void **state)
{
    bind(*state, 0, 1);
    bind_note_holder(&dispatcher, worker(2), &partitions[0]);
    directory_note_restart(dispatcher.directory, worker(2), SLICE("new"));
    bind(*state, 0, 1);
    assert_string_equal(step.workers->workers[2].incarnation, "new");
}

/* Publishes three workers that serve and speak these versions. */
static void
publish_versions(WireVersions first, WireVersions second, WireVersions third)
{
    static const WorkerState states[WORKERS] = {WORKER_SERVING, WORKER_SERVING, WORKER_SERVING};
    Roster *roster = roster_of(states);
    roster->workers[0].versions = first;
    roster->workers[1].versions = second;
    roster->workers[2].versions = third;
    directory_publish(dispatcher.directory, roster);
}

static void
workers_of_one_step_speak_a_common_version(void **state)
{
    static const WireVersions old = {1, 1};
    static const WireVersions both = {1, 2};
    static const WireVersions next = {2, 2};
    publish_versions(old, next, both);
    bind(*state, 0, 2);
    publish_versions(old, next, next);
    bind(*state, 0, 0);
    plan_slots[1].task = 1;
    bind(*state, 2, 1);
}

static void
a_step_that_must_use_workers_without_a_common_version_says_so(void **state)
{
    Call *call = *state;
    static const WireVersions old = {1, 2};
    static const WireVersions next = {3, 4};
    publish_versions(old, next, old);
    plan_slots[0].task = 0;
    plan_slots[1].task = 1;
    assert_status(call, STATUS_UNAVAILABLE, bind_slots(call, &step));
    assert_string_equal(call->error.message,
        "worker 'w1' speaks versions 3 to 4 of the worker protocol, the step's other workers 1 to 2: upgrade "
        "by one release at a time");
}

static void
a_worker_that_failed_is_the_last_choice(void **state)
{
    (void)snprintf(step.avoided, sizeof step.avoided, "w0");
    bind(*state, 1, 2);
    publish(WORKER_SERVING, WORKER_LOST, WORKER_LOST);
    bind(*state, 0, 0);
}

static void
a_worker_that_failed_others_is_left_alone_until_it_has_served(void **state)
{
    bind(*state, 0, 1);
    bind_note_failure(&dispatcher, worker(0));
    bind(*state, 1, 2);
    bind_note_failure(&dispatcher, worker(2));
    bind(*state, 1, 1);
    bind_note_success(&dispatcher, worker(0));
    bind(*state, 0, 1);
}

static void
workers_are_shared_when_there_are_too_few(void **state)
{
    publish(WORKER_DRAINING, WORKER_SERVING, WORKER_LOST);
    bind(*state, 1, 1);
}

static void
a_fixed_task_gets_its_worker(void **state)
{
    plan_slots[0].task = 2;
    bind(*state, 2, 0);
}

static void
a_fixed_task_that_is_not_serving_is_refused(void **state)
{
    Call *call = *state;
    plan_slots[1].task = 2;
    publish(WORKER_SERVING, WORKER_SERVING, WORKER_DRAINING);
    assert_int_equal(bind_slots(call, &step), STATUS_UNAVAILABLE);
    assert_string_equal(call->error.message, "slot 1 asks for task 2, and no serving worker has it");
}

static void
nobody_serving_is_said(void **state)
{
    Call *call = *state;
    publish(WORKER_DRAINING, WORKER_LOST, WORKER_LOST);
    assert_int_equal(bind_slots(call, &step), STATUS_UNAVAILABLE);
    assert_string_equal(call->error.message, "no worker is serving (3 known)");
}

static void
a_slot_that_keeps_state_goes_to_that_life_of_its_worker_or_nowhere(void **state)
{
    Call *call = *state;
    StepPin pins[SLOTS] = {{0}, {.epoch = 1}};
    plan_slots[1].keeps_state = true;
    bind(call, 0, 1);
    (void)snprintf(pins[1].worker, sizeof pins[1].worker, "%s", worker(0)->name);
    (void)snprintf(pins[1].incarnation, sizeof pins[1].incarnation, "%s", worker(0)->incarnation);
    step.pins = pins;
    bind(call, 1, 0);
    (void)snprintf(pins[1].incarnation, sizeof pins[1].incarnation, "%s", "another");
    assert_int_equal(bind_slots(call, &step), STATUS_UNAVAILABLE);
    assert_non_null(
        strstr(call->error.message, "', which keeps variables of this session, cannot be reached"));
    step.pins = NULL;
}

#define BIND_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* Publishes workers of which these have a GPU; the fault of a card that is out of service is told too. */
static void
publish_gpus(const char *first, const char *second, const char *third)
{
    static const WorkerState states[WORKERS] = {WORKER_SERVING, WORKER_SERVING, WORKER_SERVING};
    const char *const faults[WORKERS] = {first, second, third};
    Roster *roster = roster_of(states);
    for (int index = 0; index < WORKERS; index++) {
        WireDevice device = {.type = faults[index] == NULL ? SLICE("CPU") : SLICE("GPU"),
            .fault = slice_from_string(faults[index] == NULL ? "" : faults[index])};
        WireWorker told = {.no_gpu = faults[index] == NULL ? SLICE("no CUDA driver") : SLICE(""),
            .devices = &device,
            .device_count = 1};
        roster->workers[index].gpu = gpu_facts_obtain(NULL, &told);
        roster->workers[index].has_gpu = faults[index] != NULL && faults[index][0] == '\0';
        roster->workers[index].gpu_memory = (uint64_t)GPU_MEMORY * (uint64_t)(index + 1);
        assert_non_null(roster->workers[index].gpu);
    }
    directory_publish(dispatcher.directory, roster);
}

static void
need_gpu(int slot)
{
    plan_slots[slot].gpu = PLAN_GPU_NEEDED;
    plan_slots[slot].gpu_node = SLICE("a");
}

static void
a_slot_that_needs_a_gpu_goes_to_a_worker_that_has_one(void **state)
{
    publish_gpus(NULL, NULL, "");
    need_gpu(0);
    bind(*state, 2, 0);
    bind_load(&dispatcher, worker(2), 10000);
    (void)snprintf(step.avoided, sizeof step.avoided, "w2");
    bind(*state, 2, 0);
    publish_gpus(NULL, "", "an illegal address");
    bind(*state, 1, 0);
}

static void
a_slot_that_gains_by_a_gpu_gets_one_unless_many_wait_for_it(void **state)
{
    publish_gpus(NULL, NULL, "");
    plan_slots[0].gpu = PLAN_GPU_WANTED;
    bind(*state, 2, 0);
    bind_note_holder(&dispatcher, worker(0), &partitions[0]);
    bind_load(&dispatcher, worker(2), WITHOUT_GPU_LOAD - 9);
    bind(*state, 2, 0);
    bind_load(&dispatcher, worker(2), 2);
    bind(*state, 0, 1);
}

static void
what_gains_nothing_by_a_gpu_leaves_it_to_others(void **state)
{
    publish_gpus("", NULL, NULL);
    bind(*state, 1, 2);
    publish_gpus("", "", "");
    bind(*state, 0, 1);
}

static void
a_gpu_whose_memory_is_too_small_is_as_good_as_none(void **state)
{
    publish_gpus("", "", "");
    need_gpu(0);
    plan_slots[0].memory = 2 * GPU_MEMORY;
    bind(*state, 1, 0);
    plan_slots[0].memory++;
    bind(*state, 2, 0);
    plan_slots[0].memory = 4 * GPU_MEMORY;
    bind(*state, 0, 1);
    publish_gpus(NULL, "", "");
    plan_slots[0].memory = 3 * GPU_MEMORY;
    plan_slots[0].gpu = PLAN_GPU_WANTED;
    bind(*state, 2, 0);
    plan_slots[0].memory++;
    bind(*state, 0, 1);
}

static void
a_gpu_that_no_worker_has_is_refused_with_the_reason(void **state)
{
    Call *call = *state;
    need_gpu(0);
    publish_gpus(NULL, NULL, NULL);
    assert_status(call, STATUS_FAILED_PRECONDITION, bind_slots(call, &step));
    assert_string_equal(call->error.message,
        "node 'a' asks for a GPU, and no worker has one (worker 'w0': no CUDA driver); in a session with "
        "'soft_placement' a CPU would compute it");
    publish_gpus(NULL, "an illegal address", NULL);
    assert_status(call, STATUS_UNAVAILABLE, bind_slots(call, &step));
    assert_string_equal(call->error.message,
        "node 'a' asks for a GPU, and no serving worker has one in service: worker 'w1' has lost its own: an "
        "illegal address");
}

static void
a_fixed_task_without_a_gpu_is_refused_when_one_is_needed(void **state)
{
    Call *call = *state;
    need_gpu(0);
    plan_slots[0].task = 1;
    publish_gpus("", NULL, "");
    assert_status(call, STATUS_FAILED_PRECONDITION, bind_slots(call, &step));
    assert_string_equal(call->error.message,
        "node 'a' asks for a GPU, and worker 'w1', where it must run, has none in service: no CUDA driver");
    publish_gpus("", "an illegal address", "");
    assert_status(call, STATUS_UNAVAILABLE, bind_slots(call, &step));
    publish_gpus("", "", "");
    bind(*state, 1, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        BIND_TEST(slots_go_to_different_workers),
        BIND_TEST(the_least_loaded_worker_comes_first),
        BIND_TEST(a_holder_of_the_partition_is_worth_some_load),
        BIND_TEST(what_another_loop_has_registered_counts_here_too),
        BIND_TEST(a_restarted_worker_holds_nothing),
        BIND_TEST(workers_of_one_step_speak_a_common_version),
        BIND_TEST(a_step_that_must_use_workers_without_a_common_version_says_so),
        BIND_TEST(a_worker_that_failed_is_the_last_choice),
        BIND_TEST(a_worker_that_failed_others_is_left_alone_until_it_has_served),
        BIND_TEST(workers_are_shared_when_there_are_too_few),
        BIND_TEST(a_fixed_task_gets_its_worker),
        BIND_TEST(a_fixed_task_that_is_not_serving_is_refused),
        BIND_TEST(a_slot_that_keeps_state_goes_to_that_life_of_its_worker_or_nowhere),
        BIND_TEST(a_slot_that_needs_a_gpu_goes_to_a_worker_that_has_one),
        BIND_TEST(a_slot_that_gains_by_a_gpu_gets_one_unless_many_wait_for_it),
        BIND_TEST(what_gains_nothing_by_a_gpu_leaves_it_to_others),
        BIND_TEST(a_gpu_whose_memory_is_too_small_is_as_good_as_none),
        BIND_TEST(a_gpu_that_no_worker_has_is_refused_with_the_reason),
        BIND_TEST(a_fixed_task_without_a_gpu_is_refused_when_one_is_needed),
        BIND_TEST(nobody_serving_is_said),
    };
    return cmocka_run_group_tests_name("dispatch/bind", tests, NULL, NULL);
}
