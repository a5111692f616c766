/* Outputs that are larger than the gateway would hold: they pass through it piece by piece, in every form, as
 * fast as their readers take them. */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shared/base/atomic.h"
#include "shared/json/scanner.h"
#include "shared/tensor/npy.h"
#include "shared/tensor/tensor_json.h"
#include "shared/wire/frame.h"
#include "tests/support/await.h"
#include "tests/support/cluster.h"
#include "tests/support/process_memory.h"
#include "tests/support/raw_http.h"

/* The outputs y (0, 1, 2, …) and z (its negative) have as many int32 as n says, n2 one. */
static const char *const GRAPH = "zero = Const() dtype=int32 value=int32<>(0)\n"
                                 "one = Const() dtype=int32 value=int32<>(1)\n"
                                 "n = Placeholder() dtype=int32 shape=<>\n"
                                 "y = Range(zero, n, one) Tidx=int32\n"
                                 "z = Neg(y) T=int32\n"
                                 "n2 = Add(n, n) T=int32\n";

static void
begin(Cluster *cluster)
{
    cluster_session(cluster, "{}");
    cluster_graph_literal(cluster, GRAPH);
}

typedef struct Asked {
    int count; /* elements of y and z */
    const char *fetches;
    const char *accept;
    const char *options; /* JSON; NULL: none */
    const char *header;  /* "Name: value"; NULL: none */
} Asked;

/* Writes the step's JSON. */
static void
body_of(const Asked *asked, Buffer *ret_body)
{
    buffer_append_format(ret_body, "{\"feeds\":{\"n\":%d},\"fetches\":%s,\"options\":%s}", asked->count,
        asked->fetches, asked->options == NULL ? "{}" : asked->options);
}

static void
ask(Cluster *cluster, const Asked *asked, RestResponse *ret_response)
{
    char path[CLUSTER_URL_SIZE];
    char accept[128];
    AUTO_BUFFER body = {0};
    const char *const headers[] = {accept, asked->header, NULL};
    (void)snprintf(path, sizeof path, "/api/v1/sessions/%s/steps", cluster->session);
    (void)snprintf(accept, sizeof accept, "Accept: %s", asked->accept);
    body_of(asked, &body);
    cluster_send_with(cluster, "POST", path, headers, buffer_string(&body), ret_response);
}

static void
assert_counted(const int32_t *elements, size_t count, int sign)
{
    for (size_t index = 0; index < count; index++) {
        if (elements[index] != sign * (int32_t)index) {
            fail_msg("element %zu is %d", index, elements[index]);
        }
    }
}

static void
assert_tensor(const Tensor *tensor, size_t count, int sign)
{
    assert_int_equal(tensor->dtype, DTYPE_INT32);
    assert_int_equal(tensor->shape.rank, 1);
    assert_int_equal(tensor->shape.dims[0], count);
    assert_counted(tensor->data, count, sign);
}

static void
assert_npy_counted(Slice file, size_t count)
{
    AUTO_ARENA arena = arena_new(1 << 20);
    Call call = {.arena = arena};
    NpyReader reader = {0};
    AUTO_TENSOR tensor = {0};
    assert_int_equal(npy_reader_write(&call, &reader, file, SIZE_MAX), STATUS_OK);
    assert_int_equal(npy_reader_end(&call, &reader, &tensor), STATUS_OK);
    assert_tensor(&tensor, count, 1);
    npy_reader_done(&reader);
}

static void
assert_frames_counted(Slice bytes, size_t count)
{
    AUTO_ARENA arena = arena_new(1 << 20);
    Call call = {.arena = arena};
    FrameLimits limits = {.tensor_size_max = (size_t)1 << 30};
    FrameReader *reader = frame_reader_new(&limits);
    bool is_complete = true;
    size_t tensors = 0;
    Frame frame = {0};
    while (is_complete) {
        assert_int_equal(frame_read(&call, reader, &bytes, &frame, &is_complete), STATUS_OK);
        if (is_complete && frame.kind == FRAME_TENSOR) {
            bool is_y = slice_equals_string(frame.name, "y");
            bool is_z = slice_equals_string(frame.name, "z");
            assert_true(is_y || is_z || slice_equals_string(frame.name, "n2"));
            if (is_y || is_z) {
                assert_tensor(&frame.tensor, count, is_y ? 1 : -1);
            }
            tensor_unref(&frame.tensor);
            tensors++;
        }
    }
    assert_int_equal(tensors, 3);
    assert_int_equal(frame.kind, FRAME_STATUS);
    assert_true(frame_reader_is_between(reader));
    frame_reader_free(reader);
}

/* Reads the outputs of a step as JSON. */
static void
assert_json_counted(const char *text, size_t count)
{
    static const struct {
        const char *name;
        int sign;
    } outputs[] = {{"\"y\":", 1}, {"\"z\":", -1}};
    for (size_t index = 0; index < COUNT_OF(outputs); index++) {
        AUTO_ARENA arena = arena_new((size_t)1 << 30);
        Call call = {.arena = arena};
        AUTO_TENSOR tensor = {0};
        Slice ref = {0};
        JsonScanner scanner;
        TensorJsonOptions options = {.byte_size_max = SIZE_MAX};
        const char *found = strstr(text, outputs[index].name);
        assert_non_null(found);
        json_scan_begin(&scanner, slice_from_string(found + strlen(outputs[index].name)), 16);
        assert_int_equal(tensor_json_read(&call, &scanner, options, &tensor, &ref), STATUS_OK);
        assert_tensor(&tensor, count, outputs[index].sign);
    }
}

/* Large enough to come in many pieces, of a size that is no multiple of anything. */
enum { MANY = 300007 };

static void
a_large_output_is_the_same_in_every_form(void **state)
{
    Cluster *cluster = *state;
    AUTO_REST npy = {0};
    AUTO_REST frames = {0};
    AUTO_REST json = {0};
    begin(cluster);
    ask(cluster, &(Asked){.count = MANY, .fetches = "[\"y\"]", .accept = "application/x-npy"}, &npy);
    cluster_expect(&npy, 200, NULL);
    assert_npy_counted(buffer_slice(&npy.body), MANY);
    ask(cluster,
        &(Asked){.count = MANY, .fetches = "[\"y\",\"z\",\"n2\"]", .accept = "application/vnd.sluice.frames"},
        &frames);
    cluster_expect(&frames, 200, NULL);
    assert_frames_counted(buffer_slice(&frames.body), MANY);
    ask(cluster, &(Asked){.count = MANY, .fetches = "[\"y\",\"z\",\"n2\"]", .accept = "application/json"},
        &json);
    cluster_expect(&json, 200, "\"n2\":{\"dtype\":\"int32\",\"shape\":[],\"data\":[600014]}");
    assert_string_equal(rest_header(&json, "Transfer-Encoding"), "chunked");
    assert_json_counted(rest_text(&json), MANY);
    char state_text[32];
    assert_true(rest_member(&json, "state", state_text, sizeof state_text));
    assert_string_equal(state_text, "succeeded");
}

/* Fetches that are asked for under two names have to be whole in the gateway. */
static void
an_output_under_two_names_comes_twice(void **state)
{
    Cluster *cluster = *state;
    AUTO_REST json = {0};
    AUTO_REST multipart = {0};
    begin(cluster);
    ask(cluster, &(Asked){.count = MANY, .fetches = "[\"y\",\"y:0\",\"z\"]", .accept = "application/json"},
        &json);
    cluster_expect(&json, 200, "\"y:0\":{\"dtype\":\"int32\",\"shape\":[300007],\"data\":[0,1,2,");
    assert_json_counted(rest_text(&json), MANY);
    ask(cluster, &(Asked){.count = MANY, .fetches = "[\"y\",\"y:0\"]", .accept = "multipart/mixed"},
        &multipart);
    cluster_expect(&multipart, 200, NULL);
    assert_true(multipart.body.size > 2 * sizeof(int32_t) * MANY);
}

/* An answer that is kept behind a key is whole in the gateway, unless it is too large to be kept with its
 * outputs. */
static void
an_answer_behind_a_key_is_kept_or_streamed(void **state)
{
    static const char *const arguments[] = {"--limit=idempotency_answer_bytes=4000000", NULL};
    ClusterOptions options = {.worker_count = 1, .gateway_arguments = arguments};
    Cluster cluster = {0};
    (void)state;
    assert_true(cluster_start(&cluster, &options));
    begin(&cluster);
    for (int round = 0; round < 2; round++) {
        AUTO_REST kept = {0};
        ask(&cluster,
            &(Asked){.count = MANY,
                .fetches = "[\"y\"]",
                .accept = "application/json",
                .header = "Idempotency-Key: kept"},
            &kept);
        cluster_expect(&kept, 200, "\"data\":[0,1,2,3,4");
        AUTO_REST large = {0};
        ask(&cluster,
            &(Asked){.count = 4 * MANY,
                .fetches = "[\"y\",\"z\"]",
                .accept = "application/json",
                .header = "Idempotency-Key: large"},
            &large);
        cluster_expect(&large, 200, "\"state\":\"succeeded\"");
        assert_true((strstr(rest_text(&large), "\"outputs\"") != NULL) == (round == 0));
        if (round == 0) {
            assert_json_counted(rest_text(&large), 4L * MANY);
        }
    }
    cluster_stop(&cluster);
}

/* A client that reads as little as its test wants; its socket takes little by itself. */
static int
open_reader(Cluster *cluster, const Asked *asked)
{
    AUTO_BUFFER body = {0};
    AUTO_BUFFER request = {0};
    int fd = raw_open_narrow(cluster->gateway.address);
    body_of(asked, &body);
    buffer_append_format(&request,
        "POST /api/v1/sessions/%s/steps HTTP/1.1\r\nHost: h\r\nAccept: %s\r\n%s%s"
        "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
        cluster->session, asked->accept, asked->header == NULL ? "" : asked->header,
        asked->header == NULL ? "" : "\r\n", body.size);
    buffer_append_slice(&request, buffer_slice(&body));
    raw_send(fd, request.data, request.size);
    return fd;
}

/* Waits until the reply has begun. */
static void
await_begin(int fd)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    assert_int_equal(poll(&ready, 1, AWAIT_MS), 1);
}

/* Reads until `wanted` bytes have come, or all to the end of the chunks, into ret_body without their sizes.
 * Returns false when the connection was cut. */
typedef struct Chunks {
    int fd;
    Buffer raw;  /* of which `at` bytes were looked at */
    Buffer body; /* chunks taken apart */
    bool has_head;
    bool has_ended;
    size_t left; /* bytes of the chunk */
} Chunks;

static void
chunks_done(Chunks *chunks)
{
    (void)close(chunks->fd);
    buffer_done(&chunks->raw);
    buffer_done(&chunks->body);
}

static bool
take_line(Chunks *chunks, Slice end, Slice *ret_line)
{
    const char *found = memmem(chunks->raw.data, chunks->raw.size, end.data, end.size);
    if (found == NULL) {
        return false;
    }
    *ret_line = slice_of(chunks->raw.data, (size_t)(found - chunks->raw.data));
    return true;
}

static void
take_chunks(Chunks *chunks)
{
    Slice line;
    if (!chunks->has_head && take_line(chunks, SLICE("\r\n\r\n"), &line)) {
        assert_true(slice_starts_with(line, SLICE("HTTP/1.1 200")));
        buffer_consume(&chunks->raw, line.size + 4);
        chunks->has_head = true;
    }
    while (chunks->has_head && !chunks->has_ended) {
        if (chunks->left == 0) {
            if (!take_line(chunks, SLICE("\r\n"), &line)) {
                return;
            }
            size_t size = line.size == 0 ? 0 : strtoul(line.data, NULL, 16);
            chunks->has_ended = line.size > 0 && size == 0;
            chunks->left = size;
            buffer_consume(&chunks->raw, line.size + 2);
        }
        size_t part = chunks->left < chunks->raw.size ? chunks->left : chunks->raw.size;
        buffer_append(&chunks->body, chunks->raw.data, part);
        buffer_consume(&chunks->raw, part);
        chunks->left -= part;
        if (chunks->left > 0) {
            return;
        }
    }
}

/* Reads until the body has `wanted` bytes, or its end; returns false when the connection ends before. */
static bool
read_chunks(Chunks *chunks, size_t wanted)
{
    char bytes[1 << 16];
    while (chunks->body.size < wanted && !chunks->has_ended) {
        struct pollfd ready = {.fd = chunks->fd, .events = POLLIN};
        if (poll(&ready, 1, AWAIT_MS) != 1) {
            return false;
        }
        ssize_t got = recv(chunks->fd, bytes, sizeof bytes, 0);
        if (got <= 0) {
            return false;
        }
        buffer_append(&chunks->raw, bytes, (size_t)got);
        take_chunks(chunks);
    }
    return true;
}

enum { READERS = 24, READER_ELEMENTS = 4 << 20 };

/* 24 outputs of 16 MiB wait for readers that read nothing. The gateway keeps a fraction of a MiB of each; an
 * allocation that is freed may stay with the process, and there are other things in it. */
static void
readers_that_do_not_read_cost_little_and_others_nothing(void **state)
{
    static const char *const accepts[] = {
        "application/vnd.sluice.frames", "application/json", "application/x-npy", "multipart/mixed"};
    enum { PER_READER = 640 * 1024 };
    Cluster *cluster = *state;
    int fds[READERS];
    begin(cluster);
    cluster_expect_step(cluster, "{\"feeds\":{\"n\":1},\"fetches\":[\"n2\"]}", 200, NULL);
    size_t before = process_resident(cluster->gateway.pid);
    for (int index = 0; index < READERS; index++) {
        Asked asked = {.count = READER_ELEMENTS,
            .fetches = "[\"y\"]",
            .accept = accepts[index % (int)COUNT_OF(accepts)]};
        fds[index] = open_reader(cluster, &asked);
    }
    for (int index = 0; index < READERS; index++) {
        await_begin(fds[index]);
    }
    for (int round = 0; round < 20; round++) {
        cluster_expect_step(cluster, "{\"feeds\":{\"n\":1},\"fetches\":[\"n2\"]}", 200, "[2]");
    }
    size_t grown = process_resident(cluster->gateway.pid) - before;
    if (grown > (size_t)READERS * PER_READER) {
        fail_msg("the gateway has grown by %zu KiB", grown / 1024);
    }
    Chunks chunks = {.fd = fds[0]};
    assert_true(read_chunks(&chunks, SIZE_MAX));
    assert_true(chunks.has_ended);
    assert_counted((const int32_t *)(const void *)(chunks.body.data + FRAME_ALIGNMENT), READER_ELEMENTS, 1);
    chunks_done(&chunks);
    for (int index = 1; index < READERS; index++) {
        (void)close(fds[index]);
    }
    AWAIT(cluster_worker_running(cluster, 0) == 0 && cluster_worker_running(cluster, 1) == 0);
}

/* 128 MiB in frames and 64 MiB as 150 MB of text, read at once. */
static void
large_outputs_pass_through_a_small_gateway(void **state)
{
    enum { FRAMES_ELEMENTS = 32 << 20, JSON_ELEMENTS = 16 << 20, GROWTH_MAX = 24 << 20 };
    Cluster *cluster = *state;
    begin(cluster);
    cluster_expect_step(cluster, "{\"feeds\":{\"n\":100000},\"fetches\":[\"y\"]}", 200, NULL);
    size_t before = process_resident(cluster->gateway.pid);
    process_forget_peak(cluster->gateway.pid);
    AUTO_REST frames = {0};
    ask(cluster,
        &(Asked){.count = FRAMES_ELEMENTS, .fetches = "[\"y\"]", .accept = "application/vnd.sluice.frames"},
        &frames);
    cluster_expect(&frames, 200, NULL);
    assert_true(frames.body.size > FRAMES_ELEMENTS * sizeof(int32_t));
    assert_counted((const int32_t *)(const void *)(frames.body.data + FRAME_ALIGNMENT), FRAMES_ELEMENTS, 1);
    AUTO_REST json = {0};
    ask(cluster, &(Asked){.count = JSON_ELEMENTS, .fetches = "[\"y\"]", .accept = "application/json"}, &json);
    cluster_expect(&json, 200, ",16777214,16777215]}}");
    size_t peak = process_peak(cluster->gateway.pid);
    if (peak > before + GROWTH_MAX) {
        fail_msg("the gateway has grown by %zu KiB", (peak - before) / 1024);
    }
}

/* A step's time is over when its outputs are computed, not when its client has read them. */
static void
a_reader_may_take_longer_than_its_step_had(void **state)
{
    Cluster *cluster = *state;
    begin(cluster);
    Chunks chunks = {.fd = open_reader(cluster, &(Asked){.count = READER_ELEMENTS,
                                                    .fetches = "[\"y\"]",
                                                    .accept = "application/vnd.sluice.frames",
                                                    .options = "{\"timeout_ms\":5000}"})};
    assert_true(read_chunks(&chunks, 100000));
    pause_ms(7500);
    assert_true(read_chunks(&chunks, SIZE_MAX));
    assert_true(chunks.has_ended);
    assert_counted((const int32_t *)(const void *)(chunks.body.data + FRAME_ALIGNMENT), READER_ELEMENTS, 1);
    chunks_done(&chunks);
}

static bool
holds_output(Cluster *cluster, int worker)
{
    return cluster_worker_use(cluster, worker).memory_in_use >= (int64_t)READER_ELEMENTS * 4;
}

/* Returns the worker that has the outputs of a run that is over. */
static int
await_holder(Cluster *cluster)
{
    AWAIT(holds_output(cluster, 0) != holds_output(cluster, 1));
    return holds_output(cluster, 0) ? 0 : 1;
}

/* The worker that has the output dies while its reader is at the beginning: another computes it again, and
 * the bytes that were sent are skipped. */
static void
an_output_goes_on_when_its_worker_is_lost(void **state)
{
    static const char *const accepts[] = {"application/vnd.sluice.frames", "application/json"};
    Cluster *cluster = *state;
    begin(cluster);
    for (size_t index = 0; index < COUNT_OF(accepts); index++) {
        AWAIT(!holds_output(cluster, 0) && !holds_output(cluster, 1));
        Chunks chunks = {
            .fd = open_reader(cluster,
                &(Asked){.count = READER_ELEMENTS, .fetches = "[\"y\",\"z\"]", .accept = accepts[index]})};
        assert_true(read_chunks(&chunks, 1000000));
        int holder = await_holder(cluster);
        (void)process_stop(&cluster->workers[holder], SIGKILL);
        assert_true(read_chunks(&chunks, SIZE_MAX));
        assert_true(chunks.has_ended);
        if (index == 0) {
            const char *data = chunks.body.data;
            size_t size = FRAME_ALIGNMENT + READER_ELEMENTS * sizeof(int32_t);
            int sign = data[32] == 'y' ? 1 : -1;
            assert_counted((const int32_t *)(const void *)(data + FRAME_ALIGNMENT), READER_ELEMENTS, sign);
            assert_counted(
                (const int32_t *)(const void *)(data + size + FRAME_ALIGNMENT), READER_ELEMENTS, -sign);
        } else {
            assert_json_counted(buffer_string(&chunks.body), READER_ELEMENTS);
            assert_null(strstr(buffer_string(&chunks.body), "\"attempts\":1,"));
        }
        chunks_done(&chunks);
        assert_true(cluster_restart_worker(cluster, holder));
    }
}

/* One tenant gets half of the 8 MiB for outputs, for 16 readers; another tenant's outputs find room. Neither
 * those readers nor the outputs that wait for memory keep the only slot of the pool. */
static void
a_tenant_that_does_not_read_leaves_room_for_others(void **state)
{
    enum { STALLED = 24 };
    static const char *const arguments[] = {"--output-memory=8MiB", NULL};
    static const char *const one_slot[] = {"--slots", "1", NULL};
    ClusterOptions options = {
        .worker_count = 1, .has_keys = true, .gateway_arguments = arguments, .worker_arguments = one_slot};
    Cluster cluster = {0};
    char greedy[CLUSTER_KEY_SIZE];
    int fds[STALLED];
    (void)state;
    assert_true(cluster_start(&cluster, &options));
    cluster_make_key(&cluster, "greedy", NULL, greedy);
    (void)snprintf(cluster.key, sizeof cluster.key, "%s", greedy);
    begin(&cluster);
    for (int index = 0; index < STALLED; index++) {
        Asked asked = {.count = 1 << 20,
            .fetches = "[\"y\"]",
            .accept = "application/vnd.sluice.frames",
            .header = greedy};
        fds[index] = open_reader(&cluster, &asked);
    }
    AWAIT(cluster_metric(&cluster, "sluice_output_memory_bytes") >= 16 * 256 * 1024);
    assert_true(cluster_metric(&cluster, "sluice_output_memory_bytes") <= 16 * 256 * 1024);
    AWAIT(cluster_metric(&cluster, "sluice_admission_running") == STALLED);
    cluster_make_key(&cluster, "other", NULL, cluster.key);
    begin(&cluster);
    AUTO_REST other = {0};
    ask(&cluster, &(Asked){.count = MANY, .fetches = "[\"y\"]", .accept = "application/x-npy"}, &other);
    cluster_expect(&other, 200, NULL);
    assert_npy_counted(buffer_slice(&other.body), MANY);
    /* Those that had to wait come when the first have gone. */
    for (int index = 0; index < STALLED - 2; index++) {
        (void)close(fds[index]);
    }
    for (int index = STALLED - 2; index < STALLED; index++) {
        Chunks chunks = {.fd = fds[index]};
        assert_true(read_chunks(&chunks, SIZE_MAX));
        assert_true(chunks.has_ended);
        chunks_done(&chunks);
    }
    AWAIT(cluster_metric(&cluster, "sluice_output_memory_bytes") == 0);
    cluster_stop(&cluster);
}

/* Outputs of a step for later are whole in the gateway until they are stored. */
static void
a_queued_step_takes_memory_for_its_outputs(void **state)
{
    static const char *const arguments[] = {"--output-memory=8MiB", NULL};
    static const char *const headers[] = {"Prefer: respond-async, wait=30", NULL};
    static const struct {
        int count;
        const char *part;
    } cases[] = {
        {MANY, "\"state\":\"succeeded\""},
        {5 * MANY, "output 'y' of 6000140 bytes has to be whole in the gateway"},
        {MANY, "\"state\":\"succeeded\""},
    };
    ClusterOptions options = {.worker_count = 1, .gateway_arguments = arguments};
    Cluster cluster = {0};
    char path[CLUSTER_URL_SIZE];
    (void)state;
    assert_true(cluster_start(&cluster, &options));
    begin(&cluster);
    (void)snprintf(path, sizeof path, "/api/v1/sessions/%s/steps", cluster.session);
    for (size_t index = 0; index < COUNT_OF(cases); index++) {
        AUTO_BUFFER body = {0};
        AUTO_REST reply = {0};
        body_of(&(Asked){.count = cases[index].count, .fetches = "[\"y\"]"}, &body);
        cluster_send_with(&cluster, "POST", path, headers, buffer_string(&body), &reply);
        cluster_expect(&reply, 200, cases[index].part);
    }
    AWAIT(cluster_metric(&cluster, "sluice_output_memory_bytes") == 0);
    cluster_stop(&cluster);
}

/* Runs a step for later that stores y; `ret_path` names its output. */
static void
store_output(Cluster *cluster, int count, char ret_path[CLUSTER_URL_SIZE])
{
    static const char *const headers[] = {"Prefer: respond-async, wait=60", NULL};
    char path[CLUSTER_URL_SIZE];
    AUTO_BUFFER body = {0};
    AUTO_REST reply = {0};
    (void)snprintf(path, sizeof path, "/api/v1/sessions/%s/steps", cluster->session);
    body_of(&(Asked){.count = count, .fetches = "[\"y\"]"}, &body);
    cluster_send_with(cluster, "POST", path, headers, buffer_string(&body), &reply);
    cluster_expect(&reply, 200, "\"state\":\"succeeded\"");
    const char *href = strstr(rest_text(&reply), "\"href\":\"");
    assert_non_null(href);
    href += sizeof "\"href\":\"" - 1;
    (void)snprintf(ret_path, CLUSTER_URL_SIZE, "%.*s", (int)strcspn(href, "\""), href);
}

static void
get_output(Cluster *cluster, const char *path, const char *accept, RestResponse *ret_reply)
{
    const char *const headers[] = {accept, NULL};
    cluster_send_with(cluster, "GET", path, headers, NULL, ret_reply);
    cluster_expect(ret_reply, 200, NULL);
}

static void
a_stored_output_is_sent_while_it_is_read(void **state)
{
    enum { COUNT = 12 << 20, GROWTH_MAX = 24 << 20 }; /* 48 MiB, 105 MB of text */
    static const int counts[] = {2, 16 << 10, (16 << 10) + 1, 300000};
    Cluster *cluster = *state;
    char path[CLUSTER_URL_SIZE];
    begin(cluster);
    for (size_t index = 0; index < COUNT_OF(counts); index++) {
        char end[64];
        AUTO_REST json = {0};
        AUTO_REST npy = {0};
        store_output(cluster, counts[index], path);
        get_output(cluster, path, "Accept: application/json", &json);
        (void)snprintf(end, sizeof end, "%d,%d]}", counts[index] - 2, counts[index] - 1);
        assert_true(slice_starts_with(buffer_slice(&json.body), SLICE("{\"dtype\":\"int32\",\"shape\":[")));
        assert_true(slice_ends_with(buffer_slice(&json.body), slice_from_string(end)));
        get_output(cluster, path, "Accept: application/x-npy", &npy);
        assert_npy_counted(buffer_slice(&npy.body), (size_t)counts[index]);
    }
    AUTO_REST json = {0};
    AUTO_REST npy = {0};
    store_output(cluster, COUNT, path);
    size_t before = process_resident(cluster->gateway.pid);
    process_forget_peak(cluster->gateway.pid);
    get_output(cluster, path, "Accept: application/json", &json);
    assert_true(slice_ends_with(buffer_slice(&json.body), SLICE(",12582910,12582911]}")));
    get_output(cluster, path, "Accept: application/x-npy", &npy);
    assert_npy_counted(buffer_slice(&npy.body), COUNT);
    size_t peak = process_peak(cluster->gateway.pid);
    if (peak > before + GROWTH_MAX) {
        fail_msg("the gateway has grown by %zu KiB", (peak - before) / 1024);
    }
    AWAIT(cluster_metric(cluster, "sluice_output_memory_bytes") == 0);
}

typedef struct JsonReader {
    pthread_t thread;
    Cluster *cluster;
    Chunks chunks;
    bool is_done; /* atomic */
} JsonReader;

static void *
read_json(void *argument)
{
    JsonReader *reader = argument;
    assert_true(read_chunks(&reader->chunks, SIZE_MAX));
    atomic_store_seq_cst(&reader->is_done, true);
    return NULL;
}

/* One job thread writes two answers of 64 MiB as text, which takes seconds, and serves others meanwhile. */
static void
large_json_answers_do_not_stall_others(void **state)
{
    enum { ANSWERS = 2, ELEMENTS = 16 << 20, QUIET = 10 };
    static const char *const arguments[] = {"--job-threads=1", NULL};
    ClusterOptions options = {.worker_count = 1, .gateway_arguments = arguments};
    Cluster cluster = {0};
    JsonReader readers[ANSWERS] = {0};
    (void)state;
    assert_true(cluster_start(&cluster, &options));
    begin(&cluster);
    for (int index = 0; index < ANSWERS; index++) {
        readers[index].chunks.fd = open_reader(
            &cluster, &(Asked){.count = ELEMENTS, .fetches = "[\"y\"]", .accept = "application/json"});
        assert_true(read_chunks(&readers[index].chunks, 1000));
        assert_int_equal(pthread_create(&readers[index].thread, NULL, read_json, &readers[index]), 0);
    }
    for (int round = 0; round < QUIET; round++) {
        AUTO_REST sessions = {0};
        AUTO_REST ready = {0};
        cluster_send(&cluster, "GET", "/api/v1/sessions", NULL, &sessions);
        cluster_expect(&sessions, 200, NULL);
        cluster_send(&cluster, "GET", "/readyz", NULL, &ready);
        cluster_expect(&ready, 200, "[+]database ok");
    }
    assert_false(atomic_load_seq_cst(&readers[ANSWERS - 1].is_done));
    for (int index = 0; index < ANSWERS; index++) {
        assert_int_equal(pthread_join(readers[index].thread, NULL), 0);
        assert_non_null(strstr(buffer_string(&readers[index].chunks.body), ",16777214,16777215]}}"));
        chunks_done(&readers[index].chunks);
    }
    cluster_stop(&cluster);
}

/* The answer does not wait for the announced body, of which nothing comes. */
static void
a_request_without_a_key_is_answered_before_its_body(void **state)
{
    static const char *const framings[] = {
        "Content-Length: 1000", "Content-Length: 60000", "Transfer-Encoding: chunked"};
    ClusterOptions options = {.worker_count = 1, .has_keys = true};
    Cluster cluster = {0};
    (void)state;
    assert_true(cluster_start(&cluster, &options));
    for (size_t index = 0; index < COUNT_OF(framings); index++) {
        static char reply[RAW_REPLY_SIZE];
        char request[256];
        int fd = raw_open(cluster.gateway.address);
        (void)snprintf(request, sizeof request,
            "POST /api/v1/sessions HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n%s\r\n\r\n",
            framings[index]);
        raw_send_text(fd, request);
        assert_int_equal(raw_reply(fd, reply, AWAIT_MS), 401);
        assert_non_null(strstr(reply, "Connection: close"));
        assert_non_null(strstr(reply, "credentials are required"));
        assert_true(raw_is_closed(fd, AWAIT_MS));
        (void)close(fd);
    }
    /* A small body that is there already does not cost the connection. */
    static char reply[RAW_REPLY_SIZE];
    int fd = raw_open(cluster.gateway.address);
    for (int round = 0; round < 2; round++) {
        raw_send_text(fd, "POST /api/v1/sessions HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
                          "Content-Length: 2\r\n\r\n{}");
        assert_int_equal(raw_reply(fd, reply, AWAIT_MS), 401);
    }
    (void)close(fd);
    cluster_stop(&cluster);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CLUSTER_TEST(a_large_output_is_the_same_in_every_form),
        CLUSTER_TEST(an_output_under_two_names_comes_twice),
        cmocka_unit_test(an_answer_behind_a_key_is_kept_or_streamed),
        CLUSTER_TEST(readers_that_do_not_read_cost_little_and_others_nothing),
        CLUSTER_TEST(large_outputs_pass_through_a_small_gateway),
        CLUSTER_TEST(a_reader_may_take_longer_than_its_step_had),
        CLUSTER_TEST(an_output_goes_on_when_its_worker_is_lost),
        cmocka_unit_test(a_tenant_that_does_not_read_leaves_room_for_others),
        cmocka_unit_test(a_queued_step_takes_memory_for_its_outputs),
        CLUSTER_TEST(a_stored_output_is_sent_while_it_is_read),
        cmocka_unit_test(large_json_answers_do_not_stall_others),
        cmocka_unit_test(a_request_without_a_key_is_answered_before_its_body),
    };
    return cmocka_run_group_tests_name("streams", tests, NULL, NULL);
}
