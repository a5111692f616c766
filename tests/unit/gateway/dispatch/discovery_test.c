/* One worker, an HTTP/2 server of the test's own, is polled every few milliseconds. */
#include "gateway/dispatch/discovery.h"

#include "shared/base/clock.h"
#include "tests/support/call_fixture.h"
#include "tests/support/h2_pair.h"

enum { INTERVAL_MS = 5 };

static struct Worker {
    const char *answer; /* NULL: never answers */
    int status;
    int poll_count;
} worker;

static struct Seen {
    int count;
    char name[WORKER_NAME_SIZE];
    char incarnation[INCARNATION_TEXT_SIZE];
} seen;

static Directory *directory;
static Discovery *discovery;

#define ANSWER(name, incarnation, state)                                                                     \
    "{\"name\":\"" name "\",\"incarnation\":\"" incarnation "\",\"state\":\"" state                          \
    "\",\"running\":3,\"devices\":[{\"type\":\"CPU\",\"id\":0,\"isa\":\"avx2\",\"threads\":8,"               \
    "\"memory_limit\":1000,\"memory_in_use\":10}]}"
#define FIRST "0000000000000001"
#define SECOND "0000000000000002"

static bool
worker_hook(Probe *probe, char event, Slice data)
{
    (void)data;
    if (probe->side == SERVER && event == 'e') {
        worker.poll_count++;
        assert_string_equal(probe->path, "/worker/v1/status");
        if (worker.answer != NULL) {
            h2_respond(probe->stream, worker.status, NULL, 0, false);
            (void)h2_stream_write_copy(probe->stream, slice_from_string(worker.answer));
            h2_stream_end(probe->stream);
        }
    }
    return true;
}

static void
on_seen(void *context, const WorkerInfo *info)
{
    assert_ptr_equal(context, &seen);
    seen.count++;
    (void)snprintf(seen.name, sizeof seen.name, "%s", info->name);
    (void)snprintf(seen.incarnation, sizeof seen.incarnation, "%s", info->incarnation);
}

static int
set_up(void **state)
{
    static Slice addresses[1];
    Call call = {0};
    (void)state;
    worker = (struct Worker){.answer = ANSWER("w1", FIRST, "serving"), .status = 200};
    seen = (struct Seen){0};
    pair_open(worker_hook);
    addresses[0] = slice_from_string(pair.address);
    DiscoveryOptions options = {
        .addresses = addresses,
        .address_count = 1,
        .interval_ms = INTERVAL_MS,
        .on_seen = on_seen,
        .context = &seen,
    };
    directory = directory_new();
    assert_status(&call, STATUS_OK, discovery_start(&call, pair.loop, directory, &options, &discovery));
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    discovery_stop(discovery);
    directory_free(directory);
    pair_close();
    return 0;
}

/* Returns the state of the one worker, -1 while none is listed. */
static int
worker_state(void)
{
    Roster *roster = directory_take(directory);
    int state = roster->count == 0 ? -1 : (int)roster->workers[0].state;
    roster_unref(roster);
    return state;
}

/* Returns the task of the one worker, INT32_MAX while none is listed. */
static int32_t
worker_task(void)
{
    Roster *roster = directory_take(directory);
    int32_t task = roster->count == 0 ? INT32_MAX : roster->workers[0].task;
    roster_unref(roster);
    return task;
}

static void
a_worker_is_listed_once_it_has_answered(void **state)
{
    (void)state;
    assert_int_equal(worker_state(), -1);
    PAIR_UNTIL(worker_state() == WORKER_SERVING);
    Roster *roster = directory_take(directory);
    const WorkerInfo *info = &roster->workers[0];
    assert_int_equal(roster->count, 1);
    assert_string_equal(info->name, "w1");
    assert_string_equal(info->address, pair.address);
    assert_string_equal(info->incarnation, FIRST);
    assert_int_equal(info->task, -1);
    assert_int_equal(info->running_count, 3);
    assert_int_equal(info->device_count, 1);
    assert_string_equal(roster_devices(roster, info)[0].isa, "avx2");
    assert_int_equal(roster_devices(roster, info)[0].memory_limit, 1000);
    roster_unref(roster);
}

static void
a_worker_is_announced_once_and_again_when_it_has_restarted(void **state)
{
    (void)state;
    PAIR_UNTIL(worker.poll_count >= 3);
    assert_int_equal(seen.count, 1);
    assert_string_equal(seen.name, "w1");
    worker.answer = ANSWER("w1", SECOND, "serving");
    PAIR_UNTIL(seen.count == 2);
    assert_string_equal(seen.incarnation, SECOND);
}

static void
a_task_number_stays_with_the_name(void **state)
{
    (void)state;
    PAIR_UNTIL(seen.count == 1);
    discovery_set_task(discovery, "w1", 5);
    discovery_set_task(discovery, "nobody", 6);
    worker.answer = ANSWER("w1", SECOND, "serving");
    PAIR_UNTIL(seen.count == 2);
    PAIR_UNTIL(worker_task() == 5);
    worker.answer = ANSWER("w2", SECOND, "serving");
    PAIR_UNTIL(seen.count == 3);
    PAIR_UNTIL(worker_task() == -1);
}

/* The listener, which assigns task numbers, may have been away at the first announcement. */
static void
a_worker_without_a_task_number_is_announced_until_it_has_one(void **state)
{
    (void)state;
    PAIR_UNTIL(seen.count == 3);
    discovery_set_task(discovery, "w1", 0);
    int until = worker.poll_count + 25;
    PAIR_UNTIL(worker.poll_count >= until);
    assert_int_equal(seen.count, 3);
}

static void
draining_is_told_by_the_worker_or_by_an_operator(void **state)
{
    (void)state;
    PAIR_UNTIL(worker_state() == WORKER_SERVING);
    discovery_set_draining(discovery, "w1", true);
    PAIR_UNTIL(worker_state() == WORKER_DRAINING);
    discovery_set_draining(discovery, "w1", false);
    PAIR_UNTIL(worker_state() == WORKER_SERVING);
    worker.answer = ANSWER("w1", FIRST, "draining");
    PAIR_UNTIL(worker_state() == WORKER_DRAINING);
}

/* Turns the loop until that many more polls have come. */
static void
await_polls(int count)
{
    int until = worker.poll_count + count;
    PAIR_UNTIL(worker.poll_count >= until);
}

#define GPU_ANSWER(fault)                                                                                    \
    "{\"name\":\"w1\",\"incarnation\":\"" FIRST                                                              \
    "\",\"state\":\"serving\",\"devices\":[{\"type\":\"CPU\",\"threads\":8},{\"type\":\"GPU\",\"isa\":\""    \
    "sm_90/132/cublas13.1.0/cudnn9.19.0\",\"card\":\"NVIDIA H100\",\"driver\":\"580.65\"" fault              \
    ",\"libraries\":[{\"name\":\"cuDNN\",\"reason\":\"not found\"}]}]}"

/* Returns whether the one worker has a GPU in service, and a reference to what it tells of it. */
static bool
worker_has_gpu(GpuFacts **ret_facts)
{
    Roster *roster = directory_take(directory);
    bool has_gpu = roster->count > 0 && roster->workers[0].has_gpu;
    *ret_facts = roster->count > 0 ? gpu_facts_ref(roster->workers[0].gpu) : NULL;
    roster_unref(roster);
    return has_gpu;
}

static bool
serves_gpu(void)
{
    GpuFacts *facts = NULL;
    bool has_gpu = worker_has_gpu(&facts);
    gpu_facts_unref(facts);
    return has_gpu;
}

static void
a_gpu_is_listed_and_its_fault_published_at_once(void **state)
{
    (void)state;
    GpuFacts *facts = NULL;
    GpuFacts *later = NULL;
    PAIR_UNTIL(worker_state() == WORKER_SERVING);
    assert_false(worker_has_gpu(&facts));
    assert_null(facts); /* an older worker tells nothing */
    worker.answer = GPU_ANSWER("");
    PAIR_UNTIL(serves_gpu());
    assert_true(worker_has_gpu(&facts));
    assert_true(gpu_facts_have_card(facts));
    assert_true(slice_equals_string(facts->device->card, "NVIDIA H100"));
    assert_true(slice_equals_string(facts->device->driver, "580.65"));
    assert_int_equal(facts->device->library_count, 1);
    assert_true(slice_equals_string(facts->device->libraries[0].reason, "not found"));
    await_polls(3);
    assert_true(worker_has_gpu(&later));
    assert_ptr_equal(facts, later); /* the same words are kept once */
    gpu_facts_unref(facts);
    gpu_facts_unref(later);
    worker.answer = GPU_ANSWER(",\"fault\":\"an illegal address\"");
    PAIR_UNTIL(!serves_gpu());
    assert_false(worker_has_gpu(&facts));
    assert_true(slice_equals_string(gpu_facts_why_not(facts), "an illegal address"));
    gpu_facts_unref(facts);
    Roster *roster = directory_take(directory);
    assert_string_equal(
        roster_devices(roster, &roster->workers[0])[1].isa, "sm_90/132/cublas13.1.0/cudnn9.19.0");
    assert_int_equal(roster_devices(roster, &roster->workers[0])[1].slot_count, 0);
    roster_unref(roster);
}

static void
a_worker_that_answers_nonsense_is_lost_and_comes_back(void **state)
{
    (void)state;
    PAIR_UNTIL(worker_state() == WORKER_SERVING);
    worker.answer = "{\"name\":";
    await_polls(2);
    assert_int_equal(worker_state(), WORKER_SERVING);
    PAIR_UNTIL(worker_state() == WORKER_LOST);
    worker.answer = ANSWER("w1", FIRST, "serving");
    PAIR_UNTIL(worker_state() == WORKER_SERVING);
    worker.status = 503;
    PAIR_UNTIL(worker_state() == WORKER_LOST);
    assert_int_equal(seen.count, 1);
}

static void
a_worker_that_says_nothing_is_lost(void **state)
{
    (void)state;
    PAIR_UNTIL(worker_state() == WORKER_SERVING);
    worker.answer = NULL;
    PAIR_UNTIL(worker_state() == WORKER_LOST);
}

static void
a_worker_that_breaks_the_connection_is_reached_again(void **state)
{
    (void)state;
    PAIR_UNTIL(worker_state() == WORKER_SERVING);
    h2_abort(pair.connections[SERVER]);
    await_polls(3);
    assert_int_equal(worker_state(), WORKER_SERVING);
}

/* Starts anew, with no worker in the configuration. */
static void
begin_without_workers(void)
{
    Call call = {0};
    DiscoveryOptions options = {.interval_ms = 60000, .on_seen = on_seen, .context = &seen};
    discovery_stop(discovery);
    directory_free(directory);
    seen = (struct Seen){0};
    directory = directory_new();
    assert_status(&call, STATUS_OK, discovery_start(&call, pair.loop, directory, &options, &discovery));
}

static DiscoveryMember
member_here(const char *incarnation)
{
    return (DiscoveryMember){
        .address = slice_from_string(pair.address), .incarnation = slice_from_string(incarnation)};
}

static int64_t
epoch_told(void)
{
    Roster *roster = directory_take(directory);
    int64_t epoch = roster->epoch;
    roster_unref(roster);
    return epoch;
}

static size_t
count_listed(void)
{
    Roster *roster = directory_take(directory);
    size_t count = roster->count;
    roster_unref(roster);
    return count;
}

static void
a_member_is_polled_when_it_joins_and_forgotten_when_it_leaves(void **state)
{
    (void)state;
    begin_without_workers();
    DiscoveryMember member = member_here(FIRST);
    discovery_set_members(discovery, 7, &member, 1);
    PAIR_UNTIL(seen.count == 1);
    PAIR_UNTIL(count_listed() == 1);
    assert_int_equal(worker_state(), WORKER_SERVING);
    assert_int_equal(epoch_told(), 7);
    discovery_set_members(discovery, 8, NULL, 0);
    PAIR_UNTIL(epoch_told() == 8);
    assert_int_equal(count_listed(), 0);
}

static void
a_member_that_begins_a_new_life_is_polled_at_once(void **state)
{
    (void)state;
    begin_without_workers();
    DiscoveryMember member = member_here(FIRST);
    discovery_set_members(discovery, 1, &member, 1);
    PAIR_UNTIL(seen.count == 1);
    worker.answer = ANSWER("w1", SECOND, "serving");
    member = member_here(SECOND);
    discovery_set_members(discovery, 2, &member, 1);
    PAIR_UNTIL(seen.count == 2);
    assert_string_equal(seen.incarnation, SECOND);
    int polls = worker.poll_count;
    discovery_set_members(discovery, 2, &member, 1);
    PAIR_UNTIL(epoch_told() == 2);
    assert_int_equal(worker.poll_count, polls);
}

static void
a_configured_worker_that_joins_is_listed_once_and_stays_when_it_leaves(void **state)
{
    (void)state;
    PAIR_UNTIL(worker_state() == WORKER_SERVING);
    DiscoveryMember member = member_here(FIRST);
    discovery_set_members(discovery, 1, &member, 1);
    PAIR_UNTIL(epoch_told() == 1);
    assert_int_equal(count_listed(), 1);
    discovery_set_members(discovery, 2, NULL, 0);
    PAIR_UNTIL(epoch_told() == 2);
    assert_int_equal(count_listed(), 1);
}

static void
on_resolve(void *context, size_t entry, Slice name_and_port)
{
    (void)context;
    (void)entry;
    (void)name_and_port;
}

/* Returns how the one worker is listed: 'j' as one that has joined, 'c' as one that is configured, '2' when
 * there are more, '0' when there is none. */
static char
how_listed(void)
{
    Roster *roster = directory_take(directory);
    char how = roster->count == 0 ? '0' : roster->count > 1 ? '2' : roster->workers[0].has_joined ? 'j' : 'c';
    roster_unref(roster);
    return how;
}

static void
a_worker_that_has_joined_and_is_behind_a_name_is_one_whichever_comes_and_goes_first(void **state)
{
    (void)state;
    static const Slice names[] = {{"dns:workers:1", sizeof "dns:workers:1" - 1}};
    Call call = {0};
    DiscoveryOptions options = {.addresses = names,
        .address_count = 1,
        .interval_ms = INTERVAL_MS,
        .on_seen = on_seen,
        .on_resolve = on_resolve,
        .context = &seen};
    discovery_stop(discovery);
    directory_free(directory);
    seen = (struct Seen){0};
    directory = directory_new();
    assert_status(&call, STATUS_OK, discovery_start(&call, pair.loop, directory, &options, &discovery));
    Slice address = slice_from_string(pair.address);
    DiscoveryMember member = member_here(FIRST);
    discovery_set_members(discovery, 1, &member, 1);
    PAIR_UNTIL(how_listed() == 'j');
    discovery_set_task(discovery, "w1", 3);
    discovery_set_addresses(discovery, 0, &address, 1);
    assert_int_equal(how_listed(), 'j'); /* until the next list is published, the member stands on it */
    PAIR_UNTIL(how_listed() == 'c');
    discovery_set_members(discovery, 2, &member, 1);
    await_polls(2);
    assert_int_equal(how_listed(), 'c');
    discovery_set_addresses(discovery, 0, NULL, 0);
    PAIR_UNTIL(how_listed() == 'j');
    discovery_set_addresses(discovery, 0, &address, 1);
    discovery_set_members(discovery, 3, NULL, 0);
    PAIR_UNTIL(how_listed() == 'c');
    assert_int_equal(worker_task(), 3);
    assert_int_equal(seen.count, 1);
    discovery_set_addresses(discovery, 0, NULL, 0);
    PAIR_UNTIL(how_listed() == '0');
}

static void
too_many_workers_are_refused(void **state)
{
    Call *call = *state;
    static const Slice addresses[WORKER_COUNT_MAX + 1];
    DiscoveryOptions options = {.addresses = addresses, .address_count = COUNT_OF(addresses)};
    Discovery *none = NULL;
    assert_int_equal(discovery_start(call, NULL, NULL, &options, &none), STATUS_RESOURCE_EXHAUSTED);
    assert_string_equal(call->error.message, "4097 workers are configured, at most 4096 are possible");
    assert_null(none);
}

#define DISCOVERY_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        DISCOVERY_TEST(a_worker_is_listed_once_it_has_answered),
        DISCOVERY_TEST(a_worker_is_announced_once_and_again_when_it_has_restarted),
        DISCOVERY_TEST(a_task_number_stays_with_the_name),
        DISCOVERY_TEST(a_worker_without_a_task_number_is_announced_until_it_has_one),
        DISCOVERY_TEST(draining_is_told_by_the_worker_or_by_an_operator),
        DISCOVERY_TEST(a_gpu_is_listed_and_its_fault_published_at_once),
        DISCOVERY_TEST(a_worker_that_answers_nonsense_is_lost_and_comes_back),
        DISCOVERY_TEST(a_worker_that_says_nothing_is_lost),
        DISCOVERY_TEST(a_worker_that_breaks_the_connection_is_reached_again),
        DISCOVERY_TEST(a_member_is_polled_when_it_joins_and_forgotten_when_it_leaves),
        DISCOVERY_TEST(a_member_that_begins_a_new_life_is_polled_at_once),
        DISCOVERY_TEST(a_configured_worker_that_joins_is_listed_once_and_stays_when_it_leaves),
        DISCOVERY_TEST(a_worker_that_has_joined_and_is_behind_a_name_is_one_whichever_comes_and_goes_first),
        CALL_TEST(too_many_workers_are_refused),
    };
    return cmocka_run_group_tests_name("dispatch/discovery", tests, NULL, NULL);
}
