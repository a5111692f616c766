/* Large constants on their way from PostgreSQL to worker processes, a piece at a time. This process is the
 * gateway: it dispatches, reads on job threads, and watches its own memory. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "gateway/dispatch/step.h"
#include "gateway/domain/tenant.h"
#include "gateway/jobs/job_context.h"
#include "gateway/tensors/constant_pieces.h"
#include "shared/base/base64.h"
#include "tests/support/await.h"
#include "tests/support/database.h"
#include "tests/support/files.h"

enum {
    WORKERS_MAX = 4,
    CHUNK_SIZE = 1 << 20,
    PATTERN_SIZE = 32, /* a chunk is one digest, again and again */
    JOB_THREADS = 4,
    STEP_TIMEOUT_MS = 120000,
};

/* A gateway's loop. */
typedef struct Gateway {
    Loop *loop;
    Directory *directory;
    Dispatcher *dispatcher;
} Gateway;

typedef struct Fixture {
    Database *database;
    Process workers[WORKERS_MAX];
    int worker_count;
    JobContextOptions job_contexts;
    JobPool *jobs;
    ConstantPieces *pieces;
    Gateway gateways[2];
    uint64_t number; /* of the last step */
    int pieces_asked;
} Fixture;

static Fixture fixture;

/* A constant of the store. */
typedef struct Constant {
    Sha256 digest;
    int64_t chunk_count;
    int32_t largest; /* of its elements */
} Constant;

static void
note_chunk(Constant *constant, int64_t number, Sha256State *state)
{
    static char chunk[CHUNK_SIZE];
    char text[24];
    Sha256 pattern;
    int size = snprintf(text, sizeof text, "%lld", (long long)number);
    sha256(slice_of(text, (size_t)size), &pattern);
    for (size_t at = 0; at < CHUNK_SIZE; at += PATTERN_SIZE) {
        memcpy(chunk + at, pattern.bytes, PATTERN_SIZE);
    }
    sha256_update(state, slice_of(chunk, sizeof chunk));
    for (size_t at = 0; at < PATTERN_SIZE; at += sizeof(int32_t)) {
        int32_t element = 0;
        memcpy(&element, chunk + at, sizeof element);
        constant->largest = element > constant->largest ? element : constant->largest;
    }
}

/* Has PostgreSQL make the chunks `first`, `first + 1` …, so that they are never in this process. */
static Constant
store_constant(int64_t first, int64_t chunk_count)
{
    Constant constant = {.chunk_count = chunk_count, .largest = INT32_MIN};
    char hex[SHA256_HEX_SIZE];
    char tenant[UUID_TEXT_SIZE];
    char sql[1024];
    Sha256State *state = sha256_begin();
    assert_non_null(state);
    for (int64_t number = first; number < first + chunk_count; number++) {
        note_chunk(&constant, number, state);
    }
    sha256_end(state, &constant.digest);
    sha256_to_hex(&constant.digest, hex);
    uuid_to_text(TENANT_DEFAULT.value, tenant);
    (void)snprintf(sql, sizeof sql,
        "insert into blobs (tenant_id, sha256, size) values ('%s', '\\x%s', %lld)", tenant, hex,
        (long long)(chunk_count * CHUNK_SIZE));
    (void)database_ask(fixture.database, sql);
    (void)snprintf(sql, sizeof sql,
        "insert into blob_chunks (tenant_id, sha256, number, bytes) select '%s', '\\x%s', n - %lld, "
        "decode(repeat(encode(sha256(n::text::bytea), 'hex'), %d), 'hex') from generate_series(%lld, %lld) "
        "as n",
        tenant, hex, (long long)first, CHUNK_SIZE / PATTERN_SIZE, (long long)first,
        (long long)(first + chunk_count - 1));
    (void)database_ask(fixture.database, sql);
    return constant;
}

/* A plan of one slot whose only output is the largest element of a constant. */
typedef struct OnePlan {
    Buffer document;
    PlanBlob blob;
    PlanPartition partition;
    Slice fetch;
    uint32_t fetch_number; /* 0 */
    Plan plan;
} OnePlan;

#define ATTR_INT32(name) "\"" name "\":{\"type\":\"DT_INT32\"}"

static void
write_document(Buffer *text, int64_t element_count, const char *hex)
{
    char base64[128] = "";
    base64_encode(slice_from_string(hex), base64);
    buffer_append_format(text,
        "{\"node\":[{\"name\":\"w\",\"op\":\"_BlobConst\",\"attr\":{" ATTR_INT32(
            "dtype") ",\"shape\":{"
                     "\"shape\":{\"dim\":[{\"size\":\"%lld\"}]}},\"sha256\":{\"s\":\"%s\"}}},"
                     "{\"name\":\"axis\",\"op\":\"Const\",\"attr\":{" ATTR_INT32(
                         "dtype") ",\"value\":{\"tensor\":{"
                                  "\"dtype\":\"DT_INT32\",\"tensorShape\":{},\"intVal\":[0]}}}},"
                                  "{\"name\":\"m\",\"op\":\"Max\",\"input\":[\"w\",\"axis\"],\"attr\":"
                                  "{" ATTR_INT32("T") "," ATTR_INT32(
                                      "Tidx") "}},"
                                              "{\"name\":\"r\",\"op\":\"_Retval\",\"input\":[\"m\"],\"attr\":"
                                              "{" ATTR_INT32("T") ",\"index\":{"
                                                                  "\"i\":\"0\"}}}]}",
        (long long)element_count, base64);
}

static OnePlan *
plan_new(const Constant *constant)
{
    static const PlanSlot slot = {.task = PLAN_TASK_NONE};
    OnePlan *made = calloc(1, sizeof *made);
    assert_non_null(made);
    Shape shape = {.rank = 1, .dims = {constant->chunk_count * CHUNK_SIZE / (int64_t)sizeof(int32_t)}};
    sha256_to_hex(&constant->digest, made->blob.sha256);
    assert_true(tensor_new_absent(DTYPE_INT32, &shape, &constant->digest, &made->blob.tensor));
    write_document(&made->document, shape.dims[0], made->blob.sha256);
    Sha256 digest;
    sha256(buffer_slice(&made->document), &digest);
    made->fetch = SLICE("m");
    made->partition = (PlanPartition){
        .document = buffer_slice(&made->document),
        .blobs = &made->blob,
        .blob_count = 1,
        .fetches = &made->fetch_number,
        .fetch_count = 1,
    };
    sha256_to_hex(&digest, made->partition.digest);
    made->plan = (Plan){
        .reference_count = 1,
        .fetches = &made->fetch,
        .fetch_count = 1,
        .is_pure = true,
        .slots = &slot,
        .slot_count = 1,
        .partitions = &made->partition,
        .partition_count = 1,
    };
    return made;
}

static void
plan_free(OnePlan *made)
{
    assert_int_equal(made->plan.reference_count, 1);
    tensor_unref(&made->blob.tensor);
    buffer_done(&made->document);
    free(made);
}

/* Starts one more worker; `folder` NULL: it has constants in memory only. */
static void
start_worker(const char *folder)
{
    char name[8];
    (void)snprintf(name, sizeof name, "w%d", fixture.worker_count);
    const char *const arguments[] = {"--listen", "127.0.0.1:0", "--name", name, "--threads", "1", "--memory",
        "1GiB", folder == NULL ? NULL : "--blob-folder", folder, NULL};
    assert_true(process_start(&fixture.workers[fixture.worker_count], "sluice-worker", arguments));
    fixture.worker_count++;
}

static void
start_workers(int count)
{
    for (int index = 0; index < count; index++) {
        start_worker(NULL);
    }
}

/* Tells a gateway of workers `first` to `last`, which it then chooses from. */
static void
publish_workers(Gateway *gateway, int first, int last)
{
    Roster *roster = roster_new((size_t)(last - first + 1), 0);
    assert_non_null(roster);
    for (int index = first; index <= last; index++) {
        WorkerInfo *info = &roster->workers[index - first];
        info->task = index;
        (void)snprintf(info->name, sizeof info->name, "w%d", index);
        (void)snprintf(info->address, sizeof info->address, "%s", fixture.workers[index].address);
    }
    directory_publish(gateway->directory, roster);
}

static bool
read_counted(void *context, BlobPiece *piece)
{
    bool has_begun = constant_pieces_reader(fixture.pieces).read(context, piece);
    fixture.pieces_asked += has_begun;
    return has_begun;
}

static void
open_gateway(Gateway *gateway)
{
    Call *call = &fixture.database->call;
    BlobPieces pieces = constant_pieces_reader(fixture.pieces);
    pieces.read = read_counted;
    UpstreamOptions upstream = {.frames.tensor_size_max = 1 << 20};
    assert_status(call, STATUS_OK, loop_new(call, &gateway->loop));
    gateway->directory = directory_new();
    assert_non_null(gateway->directory);
    gateway->dispatcher = dispatcher_new(gateway->loop, gateway->directory, NULL, &upstream, &pieces);
    assert_non_null(gateway->dispatcher);
}

static int
setup(void **state)
{
    fixture = (Fixture){0};
    assert_int_equal(database_setup(state), 0);
    fixture.database = *state;
    Call *call = &fixture.database->call;
    fixture.job_contexts = (JobContextOptions){.conninfo = fixture.database->conninfo};
    JobPoolOptions jobs = {
        .thread_count = JOB_THREADS,
        .context_new = job_context_new,
        .context_free = job_context_free,
        .owner = &fixture.job_contexts,
    };
    assert_status(call, STATUS_OK, job_pool_new(call, &jobs, &fixture.jobs));
    fixture.pieces = constant_pieces_new(fixture.jobs, JOB_THREADS, COUNT_OF(fixture.gateways));
    assert_non_null(fixture.pieces);
    for (size_t index = 0; index < COUNT_OF(fixture.gateways); index++) {
        open_gateway(&fixture.gateways[index]);
    }
    return 0;
}

static void
close_gateways(void)
{
    if (fixture.jobs == NULL) {
        return;
    }
    for (size_t index = 0; index < COUNT_OF(fixture.gateways); index++) {
        dispatcher_close(fixture.gateways[index].dispatcher);
    }
    job_pool_free(fixture.jobs);
    for (size_t index = 0; index < COUNT_OF(fixture.gateways); index++) {
        Gateway *gateway = &fixture.gateways[index];
        loop_turn(gateway->loop, 0);
        dispatcher_free(gateway->dispatcher);
        directory_free(gateway->directory);
        loop_free(gateway->loop);
    }
    constant_pieces_free(fixture.pieces);
    fixture.jobs = NULL;
}

static int
teardown(void **state)
{
    close_gateways();
    for (int index = 0; index < fixture.worker_count; index++) {
        if (fixture.workers[index].pid != 0) {
            assert_int_equal(process_stop(&fixture.workers[index], SIGTERM), 0);
        }
    }
    return database_teardown(state);
}

/* A step and how it ended. */
typedef struct Ended {
    bool is_done;
    Failure failure;
    int32_t largest;
    uint64_t uploaded_bytes;
} Ended;

static void
take_output(void *context, uint32_t fetch, const Tensor *tensor)
{
    Ended *ended = context;
    assert_int_equal(fetch, 0);
    assert_int_equal(tensor->dtype, DTYPE_INT32);
    memcpy(&ended->largest, tensor->data, sizeof ended->largest);
}

static void
take_end(void *context, const StepReport *report)
{
    Ended *ended = context;
    ended->is_done = true;
    ended->failure = report->failure;
    ended->uploaded_bytes = report->slots[0].uploaded_bytes;
}

static void
begin_step(Gateway *gateway, OnePlan *made, Ended *ended)
{
    static const StepEvents events = {.on_output = take_output, .on_done = take_end};
    static char tenant[UUID_TEXT_SIZE];
    *ended = (Ended){.largest = INT32_MIN};
    uuid_to_text(TENANT_DEFAULT.value, tenant);
    StepRunOptions options = {
        .plan = &made->plan,
        .tenant = tenant,
        .session = "ses_1",
        .request_id = "r",
        .deadline_ns = clock_monotonic_ns() + STEP_TIMEOUT_MS * CLOCK_NS_PER_MS,
        .is_pure = true,
    };
    fixture.number++;
    memcpy(options.id.value.bytes, &fixture.number, sizeof fixture.number);
    assert_non_null(step_start(gateway->dispatcher, &options, &events, ended));
}

static void
turn_gateways(void)
{
    for (size_t index = 0; index < COUNT_OF(fixture.gateways); index++) {
        loop_turn(fixture.gateways[index].loop, index == 0 ? 1 : 0);
    }
}

static void
await_steps(const Ended *steps, int count)
{
    uint64_t end_ns = clock_monotonic_ns() + STEP_TIMEOUT_MS * CLOCK_NS_PER_MS;
    for (int index = 0; index < count; index++) {
        while (!steps[index].is_done) {
            assert_true(clock_monotonic_ns() < end_ns);
            turn_gateways();
        }
    }
}

static void
assert_succeeded(const Ended *step, const Constant *constant)
{
    assert_string_equal(step->failure.message, "");
    assert_int_equal(step->failure.code, STATUS_OK);
    assert_int_equal(step->largest, constant->largest);
}

/* Returns a line's number of kB in /proc/self/status, as MiB. */
static long
memory_mib(const char *line_name)
{
    char line[256];
    long kib = -1;
    FILE *file = fopen("/proc/self/status", "re");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, line_name, strlen(line_name)) == 0) {
            kib = strtol(line + strlen(line_name) + 1, NULL, 10);
        }
    }
    (void)fclose(file);
    assert_true(kib >= 0);
    return kib / 1024;
}

static void
forget_peak(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "we");
    assert_non_null(file);
    assert_true(fputs("5", file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void
a_constant_streams_to_four_workers_in_little_memory(void **state)
{
    enum { CHUNKS = 160, MEMORY_MAX_MIB = 64 }; /* what issue 9 allows above idle */
    (void)state;
    Ended ended[WORKERS_MAX];
    Constant small = store_constant(1000, 2);
    Constant large = store_constant(0, CHUNKS);
    OnePlan *warming = plan_new(&small);
    OnePlan *made = plan_new(&large);
    start_workers(WORKERS_MAX);
    publish_workers(&fixture.gateways[0], 0, 0);
    begin_step(&fixture.gateways[0], warming, &ended[0]);
    await_steps(ended, 1);
    assert_succeeded(&ended[0], &small);
    forget_peak();
    long idle = memory_mib("VmRSS");
    for (int index = 0; index < WORKERS_MAX; index++) {
        publish_workers(&fixture.gateways[0], index, index);
        begin_step(&fixture.gateways[0], made, &ended[index]);
        turn_gateways(); /* the step is bound at the end of a turn */
    }
    await_steps(ended, WORKERS_MAX);
    long peak = memory_mib("VmHWM");
    for (int index = 0; index < WORKERS_MAX; index++) {
        assert_succeeded(&ended[index], &large);
    }
    print_message(
        "idle %ld MiB, at most %ld MiB while %d workers got %d MiB\n", idle, peak, WORKERS_MAX, CHUNKS);
    assert_true(peak - idle < MEMORY_MAX_MIB);
    plan_free(made);
    plan_free(warming);
}

static void
a_constant_that_two_gateways_send_comes_once_at_a_time(void **state)
{
    enum { CHUNKS = 64 };
    (void)state;
    Ended ended[2];
    Constant constant = store_constant(0, CHUNKS);
    OnePlan *made = plan_new(&constant);
    start_workers(1);
    for (size_t index = 0; index < COUNT_OF(fixture.gateways); index++) {
        publish_workers(&fixture.gateways[index], 0, 0);
        begin_step(&fixture.gateways[index], made, &ended[index]);
    }
    await_steps(ended, 2);
    assert_succeeded(&ended[0], &constant);
    assert_succeeded(&ended[1], &constant);
    plan_free(made);
}

static void
when_a_worker_dies_half_way_another_gets_the_constant(void **state)
{
    enum { CHUNKS = 128 };
    (void)state;
    Ended ended;
    Constant constant = store_constant(0, CHUNKS);
    OnePlan *made = plan_new(&constant);
    start_workers(2);
    publish_workers(&fixture.gateways[0], 0, 0);
    begin_step(&fixture.gateways[0], made, &ended);
    turn_gateways();
    publish_workers(&fixture.gateways[0], 0, 1);
    fixture.pieces_asked = 0;
    while (fixture.pieces_asked < CHUNKS / 2) {
        assert_false(ended.is_done);
        turn_gateways();
    }
    assert_int_equal(process_stop(&fixture.workers[0], SIGKILL), 128 + SIGKILL);
    await_steps(&ended, 1);
    assert_succeeded(&ended, &constant);
    plan_free(made);
}

/* Changes the database behind a constant's back, and expects the step that needs it to fail so. */
static void
expect_failure(const char *change, Status expected, const char *message)
{
    Ended ended;
    Constant constant = store_constant(0, 3);
    OnePlan *made = plan_new(&constant);
    (void)database_ask(fixture.database, change);
    start_workers(1);
    publish_workers(&fixture.gateways[0], 0, 0);
    begin_step(&fixture.gateways[0], made, &ended);
    await_steps(&ended, 1);
    assert_int_equal(ended.failure.code, expected);
    assert_non_null(strstr(ended.failure.message, message));
    plan_free(made);
}

static void
stored_bytes_that_are_damaged_are_told(void **state)
{
    (void)state;
    expect_failure(
        "update blob_chunks set bytes = overlay(bytes placing '\\x00' from 100 for 1) where number = 1",
        STATUS_DATA_LOSS, "are damaged: the digest of the 3145728 bytes is");
}

static void
a_constant_that_is_no_longer_stored_is_told(void **state)
{
    (void)state;
    expect_failure("delete from blobs", STATUS_NOT_FOUND, "there are no bytes with the digest");
}

/* Runs a step on the newest worker, and returns how many bytes it was sent. */
static uint64_t
run_on_newest(OnePlan *made, const Constant *constant)
{
    Ended ended;
    publish_workers(&fixture.gateways[0], fixture.worker_count - 1, fixture.worker_count - 1);
    begin_step(&fixture.gateways[0], made, &ended);
    await_steps(&ended, 1);
    assert_succeeded(&ended, constant);
    return ended.uploaded_bytes;
}

/* Runs a step whose slot asks for the second worker's task; the gateway knows both workers. */
static void
run_on_second(OnePlan *made, Ended *ended)
{
    PlanSlot slot = {.task = 1};
    const PlanSlot *free_slot = made->plan.slots;
    made->plan.slots = &slot;
    publish_workers(&fixture.gateways[0], 0, 1);
    begin_step(&fixture.gateways[0], made, ended);
    await_steps(ended, 1);
    made->plan.slots = free_slot;
}

static void
damage_file(const char *folder, const Constant *constant)
{
    char path[256];
    char hex[SHA256_HEX_SIZE];
    char tenant[UUID_TEXT_SIZE];
    sha256_to_hex(&constant->digest, hex);
    uuid_to_text(TENANT_DEFAULT.value, tenant);
    (void)snprintf(path, sizeof path, "%s/%s/%s", folder, tenant, hex);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, "damaged", 7, 12345), 7);
    assert_int_equal(close(fd), 0);
}

/* The first worker is sent the constant, the second finds it in the folder, and so does the third, after the
 * first two are gone; the fourth finds it damaged. */
static void
workers_of_a_host_share_a_folder(void **state)
{
    enum { CHUNKS = 16, SIZE = CHUNKS * CHUNK_SIZE };
    char folder[] = "/tmp/constants_XXXXXX";
    (void)state;
    assert_non_null(mkdtemp(folder));
    Constant constant = store_constant(0, CHUNKS);
    OnePlan *made = plan_new(&constant);
    start_worker(folder);
    assert_true(run_on_newest(made, &constant) >= SIZE);
    start_worker(folder);
    assert_true(run_on_newest(made, &constant) < CHUNK_SIZE);
    for (int index = 0; index < 2; index++) {
        assert_int_equal(process_stop(&fixture.workers[index], SIGKILL), 128 + SIGKILL);
    }
    start_worker(folder);
    assert_true(run_on_newest(made, &constant) < CHUNK_SIZE);
    assert_int_equal(process_stop(&fixture.workers[2], SIGTERM), 0);
    damage_file(folder, &constant);
    start_worker(folder);
    assert_true(run_on_newest(made, &constant) >= SIZE);
    plan_free(made);
    folder_remove(folder);
}

/* A folder without room: constants go to memory. */
static void
a_folder_that_is_too_small_is_passed_by(void **state)
{
    enum { CHUNKS = 4 };
    char folder[] = "/tmp/constants_XXXXXX";
    (void)state;
    assert_non_null(mkdtemp(folder));
    Constant constant = store_constant(0, CHUNKS);
    OnePlan *made = plan_new(&constant);
    const char *const arguments[] = {"--listen", "127.0.0.1:0", "--name", "w0", "--blob-folder", folder,
        "--blob-folder-size", "1MiB", NULL};
    assert_true(process_start(&fixture.workers[0], "sluice-worker", arguments));
    fixture.worker_count++;
    (void)run_on_newest(made, &constant);
    plan_free(made);
    folder_remove(folder);
}

/* Starts two workers, the first of which has the constant; returns a plan that needs it. */
static OnePlan *
begin_with_peer(int chunk_count, Constant *ret_constant)
{
    *ret_constant = store_constant(0, chunk_count);
    OnePlan *made = plan_new(ret_constant);
    start_worker(NULL);
    (void)run_on_newest(made, ret_constant);
    start_worker(NULL);
    return made;
}

/* The second worker can only have the constant from the first: it is no longer stored. */
static void
a_worker_fetches_a_constant_from_a_peer_that_has_it(void **state)
{
    enum { CHUNKS = 16 };
    (void)state;
    Ended ended;
    Constant constant;
    OnePlan *made = begin_with_peer(CHUNKS, &constant);
    (void)database_ask(fixture.database, "delete from blobs");
    run_on_second(made, &ended);
    assert_succeeded(&ended, &constant);
    assert_true(ended.uploaded_bytes < CHUNK_SIZE);
    plan_free(made);
}

/* Turns the gateways for a while. */
static void
turn_for(uint64_t milliseconds)
{
    uint64_t end_ns = clock_monotonic_ns() + milliseconds * CLOCK_NS_PER_MS;
    while (clock_monotonic_ns() < end_ns) {
        turn_gateways();
    }
}

/* The workers do not answer: one is to fetch a constant, the other is being sent it when the gateway
 * stops. */
static void
a_gateway_that_stops_gives_its_transfers_up(void **state)
{
    enum { CHUNKS = 16, A_WHILE_MS = 100 };
    (void)state;
    Ended ended[2];
    Constant constant;
    Constant other = store_constant(100, CHUNKS);
    OnePlan *made = begin_with_peer(CHUNKS, &constant);
    OnePlan *sent = plan_new(&other);
    PlanSlot slot = {.task = 1};
    made->plan.slots = &slot;
    sent->plan.slots = &slot;
    publish_workers(&fixture.gateways[0], 0, 1);
    turn_for(A_WHILE_MS);
    assert_int_equal(kill(fixture.workers[1].pid, SIGSTOP), 0);
    begin_step(&fixture.gateways[0], made, &ended[0]);
    begin_step(&fixture.gateways[0], sent, &ended[1]);
    turn_for(A_WHILE_MS);
    close_gateways();
    assert_int_equal(kill(fixture.workers[1].pid, SIGCONT), 0);
    for (size_t index = 0; index < COUNT_OF(ended); index++) {
        assert_true(ended[index].is_done);
        assert_int_equal(ended[index].failure.code, STATUS_UNAVAILABLE);
    }
    plan_free(made);
    plan_free(sent);
}

/* The peer is gone, but the gateway does not know: it sends the constant itself. */
static void
without_the_peer_the_gateway_sends_the_constant(void **state)
{
    enum { CHUNKS = 16 };
    (void)state;
    Ended ended;
    Constant constant;
    OnePlan *made = begin_with_peer(CHUNKS, &constant);
    assert_int_equal(process_stop(&fixture.workers[0], SIGKILL), 128 + SIGKILL);
    run_on_second(made, &ended);
    assert_succeeded(&ended, &constant);
    assert_true(ended.uploaded_bytes >= CHUNKS * CHUNK_SIZE);
    plan_free(made);
}

#define CONSTANTS_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CONSTANTS_TEST(a_constant_streams_to_four_workers_in_little_memory),
        CONSTANTS_TEST(a_constant_that_two_gateways_send_comes_once_at_a_time),
        CONSTANTS_TEST(when_a_worker_dies_half_way_another_gets_the_constant),
        CONSTANTS_TEST(stored_bytes_that_are_damaged_are_told),
        CONSTANTS_TEST(a_worker_fetches_a_constant_from_a_peer_that_has_it),
        CONSTANTS_TEST(a_gateway_that_stops_gives_its_transfers_up),
        CONSTANTS_TEST(without_the_peer_the_gateway_sends_the_constant),
        CONSTANTS_TEST(workers_of_a_host_share_a_folder),
        CONSTANTS_TEST(a_folder_that_is_too_small_is_passed_by),
        CONSTANTS_TEST(a_constant_that_is_no_longer_stored_is_told),
    };
    return cmocka_run_group_tests_name("constants", tests, NULL, NULL);
}
