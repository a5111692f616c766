/* Steps in a closed loop while workers die and come back, clients hang up and deadlines pass. Every
 * request gets one right answer, or one clear reason, in time; afterwards nothing is left behind.
 * CHAOS_SEED=… repeats a run. */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "shared/base/atomic.h"
#include "tests/support/await.h"
#include "tests/support/cluster.h"

enum {
    WORKER_COUNT = 3,
    CLIENT_COUNT = 6,
    CHAOS_MS = 8000,
    CHAIN_LENGTH = 16,
    SIDE = 260,             /* 264 KiB a matrix: above 256 KiB, so it is announced and pulled, not pushed */
    STEP_TIMEOUT_MS = 8000, /* a run that is left behind ends by then: sooner than AWAIT gives up */
    CALM_TIMEOUT_MS = 20000,
    ANSWER_GRACE_MS = 10000,
    CURL_TIMED_OUT = 28,
    /* Connections of the gateway's loops to workers, of its jobs to PostgreSQL, and of clients that left
       late. */
    FILES_MAX = 32,
};

/* Begins a graph with a matrix whose elements are all x. */
static void
begin_graph(Buffer *text, const char *matrix, int side)
{
    buffer_append_format(text,
        "x = Placeholder() dtype=float32\n"
        "shape = Const() dtype=int32 value=int32<2>(%d)\n"
        "axes = Const() dtype=int32 value=int32<2>(0;1)\n"
        "%s = Fill(shape, x) T=float32 index_type=int32\n",
        side, matrix);
}

/* Makes a chain of matrices: m0 is all x, m1 = m0 + m0, m(i) = m(i-1) + m(i-2); y is the largest element
 * of the last matrix, s that of the middle one. All are small whole numbers, so they are exact. */
static void
fibonacci_graph(Cluster *cluster)
{
    AUTO_BUFFER text = {0};
    begin_graph(&text, "m0", SIDE);
    for (int index = 1; index <= CHAIN_LENGTH; index++) {
        buffer_append_format(
            &text, "m%d = Add(m%d, m%d) T=float32\n", index, index - 1, index == 1 ? 0 : index - 2);
    }
    buffer_append_format(&text, "s = Max(m%d, axes) T=float32 Tidx=int32\n", CHAIN_LENGTH / 2);
    buffer_append_format(&text, "y = Max(m%d, axes) T=float32 Tidx=int32\n", CHAIN_LENGTH);
    cluster_graph_literal(cluster, buffer_string(&text));
}

static int
fibonacci(int count)
{
    int previous = 1;
    int value = 2;
    for (int index = 2; index <= count; index++) {
        int next = value + previous;
        previous = value;
        value = next;
    }
    return value;
}

typedef struct Chaos {
    Cluster *cluster;
    bool is_calm; /* no short deadlines, nobody hangs up, and nothing may be refused */
    bool is_over; /* atomic */
    int succeeded;
    int refused; /* with 409, 499, 503 or 504 */
    int left;    /* their client hung up */
    int broken;  /* no answer, a wrong value or another refusal */
} Chaos;

typedef struct Client {
    Chaos *chaos;
    unsigned seed;
    pthread_t thread;
} Client;

static void
count_up(int *counter)
{
    (void)atomic_add_relaxed(counter, 1);
}

static void
complain(Chaos *chaos, const char *what, RestResponse *response, uint64_t elapsed_ms)
{
    count_up(&chaos->broken);
    print_error("%s after %llu ms: curl %d, status %d %s\n", what, (unsigned long long)elapsed_ms,
        response->curl_code, response->status, rest_text(response));
}

static bool
is_fair_refusal(RestResponse *response)
{
    int status = response->status;
    return (status == 499 || status == 503 || status == 504 || status == 409) &&
           strcmp(rest_header(response, "Content-Type"), "application/problem+json") == 0;
}

static bool
has_value(RestResponse *response, int x)
{
    char text[192];
    (void)snprintf(text, sizeof text,
        "\"outputs\":{\"y\":{\"dtype\":\"float32\",\"shape\":[],\"data\":[%d]},"
        "\"s\":{\"dtype\":\"float32\",\"shape\":[],\"data\":[%d]}}",
        x * fibonacci(CHAIN_LENGTH), x * fibonacci(CHAIN_LENGTH / 2));
    return strstr(rest_text(response), text) != NULL;
}

/* Sends one request: a third have a deadline that may pass, a sixth hang up. */
static void
client_step(Client *client)
{
    Chaos *chaos = client->chaos;
    char url[CLUSTER_URL_SIZE];
    char body[128];
    AUTO_REST response = {0};
    int x = 1 + (int)(rand_r(&client->seed) % 9);
    int kind = chaos->is_calm ? 5 : (int)(rand_r(&client->seed) % 6);
    long usual_ms = chaos->is_calm ? CALM_TIMEOUT_MS : STEP_TIMEOUT_MS;
    long timeout_ms = kind < 2 ? 1 + (long)(rand_r(&client->seed) % 50) : usual_ms;
    long leaves_ms = kind == 2 ? 1 + (long)(rand_r(&client->seed) % 30) : timeout_ms + ANSWER_GRACE_MS;
    (void)snprintf(url, sizeof url, "http://%s/api/v1/sessions/%s/steps", chaos->cluster->gateway.address,
        chaos->cluster->session);
    (void)snprintf(body, sizeof body,
        "{\"feeds\":{\"x\":%d},\"fetches\":[\"y\",\"s\"],\"options\":{\"timeout_ms\":%ld}}", x, timeout_ms);
    RestRequest request = {
        .method = "POST",
        .url = url,
        .body = slice_from_string(body),
        .timeout_ms = leaves_ms,
    };
    uint64_t started_ns = clock_monotonic_ns();
    rest_send(&request, &response);
    uint64_t elapsed_ms = (clock_monotonic_ns() - started_ns) / CLOCK_NS_PER_MS;
    if (kind == 2 && response.curl_code == CURL_TIMED_OUT) {
        count_up(&chaos->left);
    } else if (response.curl_code != 0) {
        complain(chaos, "no answer", &response, elapsed_ms);
    } else if (response.status == 200 && !has_value(&response, x)) {
        complain(chaos, "wrong value", &response, elapsed_ms);
    } else if (response.status == 200) {
        count_up(&chaos->succeeded);
    } else if (!chaos->is_calm && is_fair_refusal(&response)) {
        count_up(&chaos->refused);
    } else {
        complain(chaos, "unfair refusal", &response, elapsed_ms);
    }
}

static void *
client_run(void *context)
{
    Client *client = context;
    while (!atomic_load_relaxed(&client->chaos->is_over)) {
        client_step(client);
    }
    return NULL;
}

static void
clients_start(Chaos *chaos, Client *clients, unsigned seed)
{
    for (unsigned index = 0; index < CLIENT_COUNT; index++) {
        clients[index] = (Client){.chaos = chaos, .seed = seed + 1 + index};
        assert_int_equal(pthread_create(&clients[index].thread, NULL, client_run, &clients[index]), 0);
    }
}

static int
succeeded_count(const Chaos *chaos)
{
    return atomic_load_relaxed(&chaos->succeeded);
}

static void
clients_join(Chaos *chaos, Client *clients)
{
    atomic_store_relaxed(&chaos->is_over, true);
    for (size_t index = 0; index < CLIENT_COUNT; index++) {
        (void)pthread_join(clients[index].thread, NULL);
    }
}

static int
open_files(pid_t pid)
{
    char path[64];
    int count = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *directory = opendir(path);
    while (directory != NULL && readdir(directory) != NULL) {
        count++;
    }
    if (directory != NULL) {
        (void)closedir(directory);
    }
    return count;
}

static long
resident_mib(pid_t pid)
{
    char path[64];
    long pages = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    FILE *file = fopen(path, "r");
    if (file != NULL) {
        if (fscanf(file, "%*d %ld", &pages) != 1) {
            pages = 0;
        }
        (void)fclose(file);
    }
    return pages * sysconf(_SC_PAGESIZE) / (1 << 20);
}

static bool
is_idle(const WorkerUse *use)
{
    enum { CONSTANTS_MAX = 16 * 1024 };
    return use->running_count == 0 && use->memory_in_use <= CONSTANTS_MAX;
}

/* Waits until each worker answers and holds no run and no tensor but constants. */
static void
await_idle_workers(Cluster *cluster)
{
    for (int index = 0; index < WORKER_COUNT; index++) {
        uint64_t end_ns = clock_monotonic_ns() + AWAIT_MS * CLOCK_NS_PER_MS;
        WorkerUse use = cluster_worker_use(cluster, index);
        while (!is_idle(&use) && clock_monotonic_ns() < end_ns) {
            pause_ms(AWAIT_PAUSE_MS);
            use = cluster_worker_use(cluster, index);
        }
        if (!is_idle(&use)) {
            fail_msg("worker %d has %d runs and %lld bytes after %d ms", index, use.running_count,
                (long long)use.memory_in_use, AWAIT_MS);
        }
    }
}

static unsigned
seed_of_run(void)
{
    const char *given = getenv("CHAOS_SEED");
    unsigned seed =
        given != NULL ? (unsigned)strtoul(given, NULL, 10) : (unsigned)(clock_wall_us() % 1000000);
    print_message("seed %u\n", seed);
    return seed;
}

static int
setup(void **state)
{
    static Cluster cluster;
    static const ClusterOptions options = {.worker_count = WORKER_COUNT};
    *state = &cluster;
    return cluster_start(&cluster, &options) ? 0 : -1;
}

static int
teardown(void **state)
{
    cluster_stop(*state);
    return 0;
}

static void
warm_up(Cluster *cluster)
{
    cluster_session(cluster, "{\"slots\":3,\"placement\":\"spread\"}");
    fibonacci_graph(cluster);
    AUTO_REST first = {0};
    cluster_step(cluster, "{\"feeds\":{\"x\":1},\"fetches\":[\"y\",\"s\"]}", &first);
    if (first.status != 200 || !has_value(&first, 1) || strstr(rest_text(&first), "\"slot\":2") == NULL) {
        fail_msg("%d %s", first.status, rest_text(&first));
    }
}

static void
kill_and_restart(Cluster *cluster, unsigned *seed)
{
    int victim = (int)(rand_r(seed) % WORKER_COUNT);
    (void)process_stop(&cluster->workers[victim], SIGKILL);
    pause_ms((long)(rand_r(seed) % 300));
    assert_true(cluster_restart_worker(cluster, victim));
    pause_ms(50 + (long)(rand_r(seed) % 400));
}

static void
every_request_has_one_right_answer_while_workers_die(void **state)
{
    Cluster *cluster = *state;
    Chaos chaos = {.cluster = cluster};
    Client clients[CLIENT_COUNT];
    unsigned seed = seed_of_run();
    warm_up(cluster);
    int files_before = open_files(cluster->gateway.pid);
    clients_start(&chaos, clients, seed);
    uint64_t until_ns = clock_monotonic_ns() + CHAOS_MS * CLOCK_NS_PER_MS;
    while (clock_monotonic_ns() < until_ns) {
        kill_and_restart(cluster, &seed);
    }
    AWAIT(succeeded_count(&chaos) > 0);
    clients_join(&chaos, clients);
    print_message("%d succeeded, %d refused, %d left; gateway %ld MiB, %d files (%d before)\n",
        chaos.succeeded, chaos.refused, chaos.left, resident_mib(cluster->gateway.pid),
        open_files(cluster->gateway.pid), files_before);
    assert_int_equal(chaos.broken, 0);
    await_idle_workers(cluster);
    assert_true(open_files(cluster->gateway.pid) <= files_before + FILES_MAX);
    warm_up(cluster); /* steps are still served */
}

static void
a_worker_told_to_stop_under_load_fails_no_request(void **state)
{
    enum { STEPS_BEFORE = 20, STEPS_BEHIND = 20 };
    Cluster *cluster = *state;
    Chaos chaos = {.cluster = cluster, .is_calm = true};
    Client clients[CLIENT_COUNT];
    warm_up(cluster);
    clients_start(&chaos, clients, seed_of_run());
    AWAIT(succeeded_count(&chaos) >= STEPS_BEFORE);
    assert_int_equal(process_stop(&cluster->workers[1], SIGTERM), 0);
    int succeeded = succeeded_count(&chaos);
    AWAIT(succeeded_count(&chaos) >= succeeded + STEPS_BEHIND);
    clients_join(&chaos, clients);
    print_message("%d succeeded\n", chaos.succeeded);
    assert_int_equal(chaos.broken, 0);
    assert_true(cluster_restart_worker(cluster, 1));
}

/* Makes a graph whose chain a(i) = a(i-1) + r(i) reads values r(i) = a0 + a0 that are all ready at the
 * start, on other workers: the receiver is slower than the senders. */
static void
wide_graph(Cluster *cluster, int width, int side)
{
    AUTO_BUFFER text = {0};
    begin_graph(&text, "a0", side);
    for (int index = 1; index <= width; index++) {
        buffer_append_format(&text, "r%d = Add(a0, a0) T=float32\na%d = Add(a%d, r%d) T=float32\n", index,
            index, index - 1, index);
    }
    buffer_append_format(&text, "y = Max(a%d, axes) T=float32 Tidx=int32\n", width);
    cluster_graph_literal(cluster, buffer_string(&text));
}

static void
many_small_tensors_for_a_slow_receiver_are_announced(void **state)
{
    enum { WIDTH = 100, WIDE_SIDE = 226 }; /* 200 KiB each, 20 MiB together */
    Cluster *cluster = *state;
    char wanted[32];
    (void)snprintf(wanted, sizeof wanted, "\"data\":[%d]", 1 + 2 * WIDTH);
    cluster_session(cluster, "{\"slots\":3,\"placement\":\"spread\"}");
    wide_graph(cluster, WIDTH, WIDE_SIDE);
    for (int round = 0; round < 5; round++) {
        AUTO_REST response = {0};
        cluster_step(cluster, "{\"feeds\":{\"x\":1},\"fetches\":[\"y\"]}", &response);
        cluster_expect(&response, 200, wanted);
    }
    await_idle_workers(cluster);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_small_tensors_for_a_slow_receiver_are_announced),
        cmocka_unit_test(every_request_has_one_right_answer_while_workers_die),
        cmocka_unit_test(a_worker_told_to_stop_under_load_fails_no_request),
    };
    return cmocka_run_group_tests_name("chaos", tests, setup, teardown);
}
