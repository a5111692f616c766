/* Steps on a worker that takes 1 GiB of constants meanwhile: the small step's latency alone, while the
 * constants come into memory, and while they come into a blob folder; and how fast they come. The worker has
 * one loop, which serves both; the constants come from another thread, over another connection.
 *
 *     arrival_bench [MS_ALONE] */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/base/atomic.h"
#include "shared/base/clock.h"
#include "shared/base/memory.h"
#include "shared/crypto/digest.h"
#include "shared/upstream/upstream.h"
#include "tests/bench/report.h"
#include "tests/support/files.h"
#include "tests/support/process.h"

enum { SAMPLES_MAX = 1 << 20, BLOB_COUNT = 16, BLOB_SIZE = 64 << 20, PATH_SIZE = 256 };

/* y = x + x */
static const char partition[] =
    "{\"node\":["
    "{\"name\":\"x\",\"op\":\"_Arg\",\"attr\":{\"T\":{\"type\":\"DT_FLOAT\"},\"index\":{\"i\":\"0\"}}},"
    "{\"name\":\"y\",\"op\":\"Add\",\"input\":[\"x\",\"x\"],\"attr\":{\"T\":{\"type\":\"DT_FLOAT\"}}},"
    "{\"name\":\"r\",\"op\":\"_Retval\",\"input\":[\"y\"],\"attr\":{\"T\":{\"type\":\"DT_FLOAT\"},"
    "\"index\":{\"i\":\"0\"}}}]}";

typedef struct Client {
    const char *address;
    Loop *loop;
    Upstream *upstream;
    bool is_done;
    int http_status;
} Client;

static TensorBuffer *content; /* of every constant, after its number */
static char digests[BLOB_COUNT][SHA256_HEX_SIZE];

static void
must(bool is_so, const char *what)
{
    if (!is_so) {
        (void)fprintf(stderr, "arrival_bench: %s\n", what);
        exit(1);
    }
}

static void
drop_frame(UpstreamCall *call, Frame *frame)
{
    (void)call;
    tensor_unref(&frame->tensor);
}

static void
take_end(UpstreamCall *call, Status status, const char *message)
{
    Client *client = upstream_context(call);
    must(status == STATUS_OK, message);
    client->http_status = upstream_http_status(call);
    client->is_done = true;
}

static const UpstreamEvents events = {.on_frame = drop_frame, .on_done = take_end};

static void
client_open(Client *client, const char *address)
{
    Call call = {.arena = NULL};
    UpstreamOptions options = {.frames.tensor_size_max = 1 << 20};
    *client = (Client){.address = address};
    must(loop_new(&call, &client->loop) == STATUS_OK, "no loop");
    client->upstream = upstream_new(client->loop, &options);
    must(client->upstream != NULL, "no memory");
}

static void
client_close(Client *client)
{
    upstream_free(client->upstream);
    loop_free(client->loop);
}

static UpstreamCall *
begin(Client *client, const char *method, const char *path, uint64_t body_size)
{
    UpstreamHead head = {
        .method = method,
        .path = slice_from_string(path),
        .address = client->address,
        .attempt = 1,
        .tenant = SLICE("t"),
        .body_size = body_size,
    };
    client->is_done = false;
    UpstreamCall *call = upstream_begin(client->upstream, &head, &events, client);
    must(call != NULL, "no memory");
    return call;
}

static void
finish(Client *client, UpstreamCall *call)
{
    upstream_end(call);
    while (!client->is_done) {
        loop_turn(client->loop, 1000);
    }
    must(client->http_status / 100 == 2, "the worker refuses");
}

static void
digest_of(Slice head, Slice rest, char ret_hex[SHA256_HEX_SIZE])
{
    Sha256 digest;
    Sha256State *state = sha256_begin();
    must(state != NULL, "no memory");
    sha256_update(state, head);
    sha256_update(state, rest);
    sha256_end(state, &digest);
    sha256_to_hex(&digest, ret_hex);
}

static void
make_constants(void)
{
    content = tensor_buffer_new(BLOB_SIZE - sizeof(uint64_t));
    must(content != NULL, "no memory");
    for (size_t at = 0; at < content->size; at++) {
        ((unsigned char *)content->data)[at] = (unsigned char)(at * 131 + at / 251);
    }
    for (uint64_t number = 0; number < BLOB_COUNT; number++) {
        digest_of(slice_of((char *)&number, sizeof number), slice_of(content->data, content->size),
            digests[number]);
    }
}

/* The thread that sends the constants, one after the other. */
typedef struct Sender {
    const char *address;
    double seconds;
    bool is_over; /* atomic */
} Sender;

static void *
send_constants(void *context)
{
    Sender *sender = context;
    Client client;
    char path[PATH_SIZE];
    client_open(&client, sender->address);
    uint64_t start_ns = clock_monotonic_ns();
    for (uint64_t number = 0; number < BLOB_COUNT; number++) {
        (void)snprintf(path, sizeof path, "/worker/v1/blobs/%s", digests[number]);
        UpstreamCall *call = begin(&client, "PUT", path, BLOB_SIZE);
        upstream_write_copy(call, slice_of((char *)&number, sizeof number));
        upstream_write_buffer(call, slice_of(content->data, content->size), content);
        finish(&client, call);
    }
    sender->seconds = (double)(clock_monotonic_ns() - start_ns) * 1e-9;
    client_close(&client);
    atomic_store_release(&sender->is_over, true);
    return NULL;
}

static void
put_partition(Client *client, const char *digest)
{
    char path[PATH_SIZE];
    UpstreamCall *call = begin(client, "PUT", "/worker/v1/sessions/s1", 0);
    upstream_write_copy(call, SLICE("{}"));
    finish(client, call);
    (void)snprintf(path, sizeof path, "/worker/v1/sessions/s1/partitions/%s", digest);
    call = begin(client, "PUT", path, 0);
    upstream_write_copy(call, slice_from_string(partition));
    finish(client, call);
}

static void
run_step(Client *client, const char *digest, uint64_t number, const Tensor *x)
{
    AUTO_BUFFER json = {0};
    AUTO_BUFFER frame = {0};
    char path[PATH_SIZE];
    WireRun run = {
        .partition = slice_from_string(digest),
        .session = SLICE("s1"),
        .attempt = 1,
        .feed_count = 1,
        .fetch_count = 1,
    };
    (void)snprintf(path, sizeof path, "/worker/v1/steps/stp_%llu:run", (unsigned long long)number);
    UpstreamCall *call = begin(client, "POST", path, 0);
    wire_run_write(&json, &run);
    frame_write_json(&frame, FRAME_HEADER, buffer_slice(&json));
    upstream_write_copy(call, buffer_slice(&frame));
    upstream_write_tensor(call, SLICE("0"), x);
    finish(client, call);
}

/* Runs one step after the other until the sender is done, or, without a sender, for `alone_ms`. */
static void
measure_steps(Client *client, const char *name, const Sender *sender, uint64_t alone_ms)
{
    static uint64_t samples[SAMPLES_MAX];
    static uint64_t step;
    char digest[SHA256_HEX_SIZE];
    char row[80];
    AUTO_TENSOR x = {0};
    Shape shape = {.rank = 1, .dims = {1}};
    must(tensor_new(DTYPE_FLOAT32, &shape, &x), "no memory");
    ((float *)x.data)[0] = 1;
    digest_of((Slice){0}, slice_from_string(partition), digest);
    put_partition(client, digest);
    run_step(client, digest, step++, &x);
    size_t count = 0;
    uint64_t end_ns = clock_monotonic_ns() + alone_ms * CLOCK_NS_PER_MS;
    while (count < SAMPLES_MAX &&
           (sender == NULL ? clock_monotonic_ns() < end_ns : !atomic_load_acquire(&sender->is_over))) {
        uint64_t start_ns = clock_monotonic_ns();
        run_step(client, digest, step++, &x);
        samples[count++] = clock_monotonic_ns() - start_ns;
    }
    must(count > 0, "no step has run");
    (void)snprintf(row, sizeof row, "step %s", name);
    report_times(row, samples, count);
}

static void
measure_beside(Client *client, const char *name)
{
    Sender sender = {.address = client->address};
    pthread_t thread;
    char row[80];
    must(pthread_create(&thread, NULL, send_constants, &sender) == 0, "no thread");
    measure_steps(client, name, &sender, 0);
    (void)pthread_join(thread, NULL);
    (void)snprintf(row, sizeof row, "1 GiB of constants, step %s", name);
    report_value(row, (double)BLOB_COUNT * BLOB_SIZE * 1e-9 / sender.seconds, "GB/s", "");
}

static void
measure_worker(const char *const *arguments, const char *name, uint64_t alone_ms)
{
    Process worker;
    Client client;
    must(process_start(&worker, "sluice-worker", arguments), "no worker");
    client_open(&client, worker.address);
    if (alone_ms > 0) {
        measure_steps(&client, "alone", NULL, alone_ms);
    }
    measure_beside(&client, name);
    client_close(&client);
    (void)process_stop(&worker, SIGTERM);
}

int
main(int argc, char **argv)
{
    uint64_t alone_ms = 2000;
    if (argc > 1 && (!slice_to_uint64(slice_from_string(argv[1]), &alone_ms) || alone_ms == 0)) {
        return 2;
    }
    char folder[] = "/tmp/arrival_bench.XXXXXX";
    must(mkdtemp(folder) != NULL, "no folder");
    const char *const in_memory[] = {"--listen", "127.0.0.1:0", NULL};
    const char *const in_folder[] = {"--listen", "127.0.0.1:0", "--blob-folder", folder, NULL};
    make_constants();
    measure_worker(in_memory, "beside constants for memory", alone_ms);
    measure_worker(in_folder, "beside constants for a folder", 0);
    tensor_buffer_unref(content);
    folder_remove(folder);
    return 0;
}
