/* Loops cut by the planner, whose partitions run side by side in this process: a tensor sent to another
 * slot is delivered there at once. */
#include "shared/base/atomic.h"
#include "tests/support/cmocka_all.h"

#include <time.h>

#include "shared/formats/graphdef_json.h"
#include "tests/support/loop_graphs.h"
#include "tests/support/partition_runs.h"
#include "tests/support/plan_literals.h"
#include "worker/runtime/partition/compile.h"

enum { SLOTS_MAX = 3 };

typedef struct Slots {
    RunFixture *fixture;
    Plan *plan;
    Partition *partitions[SLOTS_MAX];
    Rendezvous *rendezvous[SLOTS_MAX];
    Run *runs[SLOTS_MAX];
    RunOutcome outcomes[SLOTS_MAX];
} Slots;

static Status
slots_send(void *context, Call *call, Slice key, Tensor *tensor, bool is_dead)
{
    const Slots *slots = context;
    size_t digit = slice_find(key, ';') + sizeof ";/slot:" - 1;
    assert_true(digit < key.size);
    return rendezvous_deliver(call, slots->rendezvous[key.data[digit] - '0'], key, tensor, is_dead);
}

static Slots
slots_compile(RunFixture *fixture, const char *graph, uint32_t slot_count)
{
    Slots slots = {.fixture = fixture};
    PlanLiteral literal = {.graph = graph,
        .feeds = "x n",
        .fetches = "v_exit",
        .placement = PLACEMENT_SPREAD,
        .slot_count = slot_count};
    assert_status(&fixture->call, STATUS_OK, plan_literal(&fixture->call, &literal, &slots.plan));
    assert_int_equal(slots.plan->partition_count, slot_count);
    for (uint32_t i = 0; i < slot_count; i++) {
        AUTO_GRAPH_DEF def = NULL;
        MissingBlobs missing = {0};
        assert_status(&fixture->call, STATUS_OK,
            graphdef_json_read(&fixture->call, slots.plan->partitions[i].document, &def));
        assert_status(&fixture->call, STATUS_OK,
            partition_compile(
                &fixture->call, def, fixture_devices(fixture), NULL, &missing, &slots.partitions[i]));
    }
    return slots;
}

static void
slots_done(Slots *slots)
{
    for (size_t i = 0; i < slots->plan->partition_count; i++) {
        partition_unref(slots->partitions[i]);
    }
    plan_unref(slots->plan);
}

static Tensor
make_feed(const Slots *slots, Slice name, int32_t n)
{
    if (slice_equals_string(name, "x")) {
        return fixture_vector(slots->fixture, 300, 0.3F);
    }
    TensorBuffer *buffer = slots->fixture->device->allocate(slots->fixture->device, sizeof n);
    *(int32_t *)buffer->data = n;
    return (Tensor){.dtype = DTYPE_INT32, .shape = shape_scalar(), .data = buffer->data, .buffer = buffer};
}

static void
slots_start(Slots *slots, uint32_t slot, int32_t n)
{
    const PlanPartition *partition = &slots->plan->partitions[slot];
    Tensor args[2];
    for (size_t i = 0; i < partition->feed_count; i++) {
        args[i] = make_feed(slots, slots->plan->feeds[partition->feeds[i]], n);
    }
    RunRequest request = {
        .partition = slots->partitions[slot],
        .args = args,
        .arg_count = (uint32_t)partition->feed_count,
        .rendezvous = slots->rendezvous[slot],
        .callbacks = outcome_callbacks(&slots->outcomes[slot]),
    };
    assert_status(
        &slots->fixture->call, STATUS_OK, run_start(&slots->fixture->call, &request, &slots->runs[slot]));
}

static void
slots_open(Slots *slots)
{
    RendezvousRemote remote = {.context = slots, .send = slots_send};
    for (uint32_t i = 0; i < slots->plan->partition_count; i++) {
        slots->rendezvous[i] = rendezvous_new(i, &remote);
        assert_non_null(slots->rendezvous[i]);
    }
}

/* Frees the rendezvous, and with them the tensors that no Recv took. */
static void
slots_close(Slots *slots)
{
    for (size_t i = 0; i < slots->plan->partition_count; i++) {
        run_unref(TAKE(slots->runs[i]));
        outcome_clear(&slots->outcomes[i]);
    }
    for (size_t i = 0; i < slots->plan->partition_count; i++) {
        rendezvous_unref(TAKE(slots->rendezvous[i]));
    }
    assert_int_equal(fixture_memory_in_use(slots->fixture), 0);
}

/* Runs all slots; returns the fetch's value, which the caller gives back. */
static Tensor
slots_run(Slots *slots, int32_t n)
{
    Tensor result = {0};
    uint32_t count = (uint32_t)slots->plan->partition_count;
    slots_open(slots);
    for (uint32_t i = 0; i < count; i++) {
        slots_start(slots, count - 1 - i, n);
    }
    for (uint32_t i = 0; i < count; i++) {
        outcome_wait(&slots->outcomes[i]);
        assert_string_equal(slots->outcomes[i].message, "");
        if (slots->plan->partitions[i].fetch_count > 0) {
            assert_true(tensor_new(DTYPE_FLOAT32, &slots->outcomes[i].outputs[0].shape, &result));
            memcpy(result.data, slots->outcomes[i].outputs[0].data, tensor_byte_size(&result));
        }
        assert_int_equal(rendezvous_parked_bytes(slots->rendezvous[i]), 0);
    }
    slots_close(slots);
    return result;
}

static void
assert_same_however_cut(const char *const *graphs, size_t graph_count)
{
    static const int32_t turns[] = {0, 1, 2, 3, 12};
    Tensor expected[COUNT_OF(turns)] = {0};
    for (size_t graph = 0; graph < graph_count; graph++) {
        for (uint32_t slot_count = 1; slot_count <= SLOTS_MAX; slot_count++) {
            RunFixture fixture;
            fixture_begin(&fixture, 2);
            Slots slots = slots_compile(&fixture, graphs[graph], slot_count);
            for (size_t i = 0; i < COUNT_OF(turns); i++) {
                AUTO_TENSOR result = slots_run(&slots, turns[i]);
                assert_true(expected[i].buffer == NULL || tensor_equal(&result, &expected[i]));
                tensor_unref(&expected[i]);
                expected[i] = tensor_ref(&result);
            }
            slots_done(&slots);
            fixture_end(&fixture);
        }
    }
    for (size_t i = 0; i < COUNT_OF(turns); i++) {
        tensor_unref(&expected[i]);
    }
}

static void
a_loop_gives_the_same_bits_however_cut_and_however_parallel(void **state)
{
    (void)state;
    static const char *const graphs[] = {LOOP_CHAOTIC("parallel_iterations=1"),
        LOOP_CHAOTIC("parallel_iterations=2"), LOOP_CHAOTIC("parallel_iterations=10"),
        LOOP_CHAOTIC("parallel_iterations=32")};
    assert_same_however_cut(graphs, COUNT_OF(graphs));
}

static void
nested_loops_give_the_same_bits_however_cut(void **state)
{
    (void)state;
    assert_same_however_cut((const char *const[]){LOOP_NESTED}, 1);
}

static void
branches_in_loops_give_the_same_bits_however_cut(void **state)
{
    (void)state;
    assert_same_however_cut((const char *const[]){LOOP_BRANCHING}, 1);
}

static void
untaken_loops_give_the_same_bits_however_cut(void **state)
{
    (void)state;
    assert_same_however_cut((const char *const[]){LOOP_UNTAKEN}, 1);
}

/* Runs one slot while the other never starts, cancels it after a while, and returns whether the error
 * names what it waited for. On a busy machine the slot may not have begun to wait. */
static bool
names_what_it_waits_for(Slots *slots, long duration_ms)
{
    const RunOutcome *outcome = &slots->outcomes[1];
    slots_open(slots);
    slots_start(slots, 1, 3);
    (void)nanosleep(
        &(struct timespec){.tv_sec = duration_ms / 1000, .tv_nsec = duration_ms % 1000 * 1000000}, NULL);
    run_cancel(slots->runs[1], STATUS_DEADLINE_EXCEEDED, "the step's deadline has passed");
    outcome_wait(outcome);
    assert_int_equal(outcome->code, STATUS_DEADLINE_EXCEEDED);
    bool is_named = strstr(outcome->message, "/slot:0/device:CPU:0;/slot:1/device:CPU:0;edge_0_") != NULL &&
                    strstr(outcome->message, ";loop:0'") != NULL &&
                    strstr(outcome->message, "; running: loop 'loop' in iteration 0") != NULL;
    slots_close(slots);
    return is_named;
}

static void
a_late_run_names_loop_and_iteration_it_waits_in(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 1);
    Slots slots = slots_compile(&fixture, LOOP_CHAOTIC(""), 2);
    bool is_named = false;
    for (long duration_ms = 5; duration_ms < 10000 && !is_named; duration_ms *= 4) {
        is_named = names_what_it_waits_for(&slots, duration_ms);
    }
    assert_true(is_named);
    slots_done(&slots);
    fixture_end(&fixture);
}

static void
a_slot_that_fails_in_a_later_turn_leaves_nothing_behind(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 2);
    /* The second turn cannot add: v has 600 elements then instead of 300. */
    Slots slots = slots_compile(&fixture,
        LOOP_FEEDS LOOP_COUNTER("i", "loop", "zero", "n", "") LOOP_VARIABLE(
            "v", "i", "loop", "x", "") "axis = Const(^v_body) dtype=int32 value=int32(0)\n"
                                       "three = Const(^v_body) dtype=float32 value=float32<300>(1)\n"
                                       "wrong = Add(v_body, three) T=float32\n"
                                       "v_new = ConcatV2(wrong, v_body, axis) T=float32 N=2 Tidx=int32\n",
        2);
    for (int round = 0; round < 10; round++) {
        slots_open(&slots);
        slots_start(&slots, 0, 9);
        slots_start(&slots, 1, 9);
        while (atomic_load_acquire(&slots.outcomes[0].done_count) == 0 &&
               atomic_load_acquire(&slots.outcomes[1].done_count) == 0) {
            (void)nanosleep(&(struct timespec){.tv_nsec = 1000}, NULL);
        }
        run_cancel(slots.runs[0], STATUS_ABORTED, "the other failed");
        run_cancel(slots.runs[1], STATUS_ABORTED, "the other failed");
        outcome_wait(&slots.outcomes[0]);
        outcome_wait(&slots.outcomes[1]);
        int failed = slots.outcomes[0].code == STATUS_INVALID_ARGUMENT ? 0 : 1;
        assert_int_equal(slots.outcomes[failed].code, STATUS_INVALID_ARGUMENT);
        assert_string_equal(slots.outcomes[failed].node, "wrong");
        assert_int_equal(slots.outcomes[1 - failed].code, STATUS_ABORTED);
        slots_close(&slots);
    }
    slots_done(&slots);
    fixture_end(&fixture);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loop_gives_the_same_bits_however_cut_and_however_parallel),
        cmocka_unit_test(nested_loops_give_the_same_bits_however_cut),
        cmocka_unit_test(branches_in_loops_give_the_same_bits_however_cut),
        cmocka_unit_test(untaken_loops_give_the_same_bits_however_cut),
        cmocka_unit_test(a_late_run_names_loop_and_iteration_it_waits_in),
        cmocka_unit_test(a_slot_that_fails_in_a_later_turn_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
