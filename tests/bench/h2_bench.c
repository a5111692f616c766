/* Speed of shared/h2 over loopback, both ends on one loop in one thread: small requests a second at
 * several depths, GB/s of one large body each way, and how long a small request takes beside one.
 *
 *     h2_bench [SECONDS_PER_ROW] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

#include "shared/base/clock.h"
#include "shared/base/memory.h"
#include "shared/h2/h2.h"
#include "shared/net/socket.h"
#include "tests/bench/report.h"

enum { SMALL_SIZE = 100, BLOCK_SIZE = 1 << 20, SAMPLES_MAX = 1 << 20 };

typedef struct Bench {
    Loop *loop;
    H2Connection *server;
    H2Connection *client;
    uint64_t answered;
    uint64_t received;
    uint64_t to_send;
    bool is_open; /* closed loop: each answer sends the next request */
} Bench;

static Bench bench;
static char block[BLOCK_SIZE];
static char small[SMALL_SIZE];

static H2Stream *
request_begin(Slice path, bool is_last)
{
    const H2Header headers[] = {
        {SLICE(":method"), SLICE("POST")},
        {SLICE(":scheme"), SLICE("http")},
        {SLICE(":authority"), SLICE("worker")},
        {SLICE(":path"), path},
    };
    return h2_request(bench.client, headers, COUNT_OF(headers), is_last, NULL, NULL);
}

static void
send_small(void)
{
    H2Stream *stream = request_begin(SLICE("/small"), false);
    if (stream == NULL || !h2_stream_write(stream, slice_of(small, sizeof small), NULL, NULL)) {
        abort();
    }
    h2_stream_end(stream);
}

static void
pump_large(H2Stream *stream)
{
    while (bench.to_send > 0 && h2_stream_queued(stream) < H2_WRITE_HIGH) {
        if (!h2_stream_write(stream, slice_of(block, sizeof block), NULL, NULL)) {
            abort();
        }
        bench.to_send -= BLOCK_SIZE;
    }
    if (bench.to_send == 0) {
        h2_stream_end(stream);
    }
}

static void
server_data(H2Stream *stream, Slice data)
{
    bench.received += data.size;
    h2_stream_consume(stream, data.size);
}

static void
server_headers(H2Stream *stream, const H2Header *headers, size_t count, bool is_last)
{
    (void)count;
    stream->context = slice_equals_string(headers[3].value, "/large") && is_last ? &bench : NULL;
}

static void
server_end(H2Stream *stream)
{
    h2_respond(stream, 200, NULL, 0, false);
    if (stream->context != NULL) {
        pump_large(stream);
        return;
    }
    (void)h2_stream_write(stream, slice_of(small, sizeof small), NULL, NULL);
    h2_stream_end(stream);
}

static void
client_closed(H2Stream *stream, Status reason)
{
    (void)stream;
    if (reason != STATUS_OK) {
        (void)fprintf(stderr, "a stream ended with %s\n", status_name(reason));
        abort();
    }
    bench.answered++;
    if (bench.is_open) {
        send_small();
    }
}

static void
server_closed(H2Stream *stream, Status reason)
{
    (void)stream;
    (void)reason;
}

static const H2Handlers SERVER = {
    .on_headers = server_headers,
    .on_data = server_data,
    .on_end = server_end,
    .on_writable = pump_large,
    .on_close = server_closed,
};
static const H2Handlers CLIENT = {
    .on_data = server_data,
    .on_writable = pump_large,
    .on_close = client_closed,
};

static void
run_until(uint64_t answered, uint64_t end_ns)
{
    while (bench.answered < answered && loop_now_ns(bench.loop) < end_ns) {
        loop_turn(bench.loop, 100);
    }
}

static double
seconds_since(uint64_t start_ns)
{
    return (double)(clock_monotonic_ns() - start_ns) * 1e-9;
}

/* Returns the CPU time of this thread, which is both ends of the connection: other work on the machine
 * changes it little. */
static double
cpu_seconds(void)
{
    struct timespec spent = {.tv_sec = 0};
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
    return (double)spent.tv_sec + (double)spent.tv_nsec * 1e-9;
}

static void
measure_small(int depth, uint64_t duration_ns)
{
    bench.is_open = true;
    bench.answered = 0;
    uint64_t start_ns = clock_monotonic_ns();
    double start_cpu = cpu_seconds();
    for (int count = 0; count < depth; count++) {
        send_small();
    }
    run_until(UINT64_MAX, start_ns + duration_ns);
    uint64_t answered = bench.answered;
    double seconds = seconds_since(start_ns);
    double cpu = cpu_seconds() - start_cpu;
    bench.is_open = false;
    run_until(answered + (uint64_t)depth, UINT64_MAX);
    char name[48];
    (void)snprintf(name, sizeof name, "h2, %d in flight: rate", depth);
    report_value(name, (double)answered / seconds, "requests/s", "");
    (void)snprintf(name, sizeof name, "h2, %d in flight: CPU, both ends", depth);
    report_value(name, cpu * 1e6 / (double)answered, "us", "");
}

static void
measure_large(const char *name, bool is_upload, uint64_t size)
{
    bench.answered = 0;
    bench.received = 0;
    bench.to_send = size;
    uint64_t start_ns = clock_monotonic_ns();
    H2Stream *stream = request_begin(SLICE("/large"), !is_upload);
    if (is_upload && stream != NULL) {
        pump_large(stream);
    }
    run_until(1, UINT64_MAX);
    report_value(name, (double)bench.received * 1e-9 / seconds_since(start_ns), "GB/s", "");
}

/* Sends one small request at a time while a large answer comes in on the same connection. */
static void
measure_beside(uint64_t size)
{
    static uint64_t samples[SAMPLES_MAX];
    size_t count = 0;
    bench.to_send = size;
    H2Stream *stream = request_begin(SLICE("/large"), true);
    while (stream != NULL && bench.to_send > 0 && count < SAMPLES_MAX) {
        bench.answered = 0;
        uint64_t start_ns = clock_monotonic_ns();
        send_small();
        run_until(1, UINT64_MAX);
        samples[count++] = clock_monotonic_ns() - start_ns;
    }
    report_times("h2, small beside a large answer", samples, count);
    bench.answered = 0;
    run_until(1, loop_now_ns(bench.loop) + CLOCK_NS_PER_S);
}

static void
accept_one(Watch *watch, uint32_t events)
{
    (void)events;
    Call call = {.arena = NULL};
    H2Options options = {.handlers = &SERVER};
    int fd = socket_accept(watch->fd);
    if (fd >= 0 && h2_accept(&call, bench.loop, fd, &options, &bench.server) != STATUS_OK) {
        abort();
    }
}

static Status
connect_pair(Call *call, Watch *watch, int *ret_listener)
{
    char address[ADDRESS_TEXT_SIZE];
    H2Options options = {.handlers = &CLIENT};
    TRY(loop_new(call, &bench.loop));
    TRY(socket_listen(call, "127.0.0.1:0", (ListenOptions){.backlog = 0}, ret_listener));
    socket_local_address(*ret_listener, address);
    TRY(watch_open(call, watch, bench.loop, *ret_listener, EPOLLIN, accept_one));
    return h2_connect(call, bench.loop, address, &options, &bench.client);
}

int
main(int argc, char **argv)
{
    uint64_t seconds = 2;
    if (argc > 1 && !slice_to_uint64(slice_from_string(argv[1]), &seconds)) {
        return 2;
    }
    Call call = {.arena = NULL};
    Watch watch = {.loop = NULL};
    int listener = -1;
    if (connect_pair(&call, &watch, &listener) != STATUS_OK) {
        (void)fprintf(stderr, "%s\n", call.error.message);
        return 1;
    }
    static const int depths[] = {1, 16, 64, 256};
    for (size_t index = 0; index < COUNT_OF(depths); index++) {
        measure_small(depths[index], seconds * CLOCK_NS_PER_S);
    }
    measure_large("h2, download of 1 MiB blocks", false, UINT64_C(4) << 30);
    measure_large("h2, upload of 1 MiB blocks", true, UINT64_C(4) << 30);
    measure_beside(UINT64_C(3) << 30);
    h2_abort(bench.client);
    h2_abort(bench.server);
    watch_close(&watch);
    socket_close(listener);
    loop_free(bench.loop);
    return 0;
}
