/* The memory of steps, over REST: the sizes that a step reports, and steps that take too much. */
#include <pthread.h>

#include "shared/base/clock.h"
#include "tests/support/cluster.h"
#include "tests/support/cmocka_all.h"

/* The output y takes 4 MiB, z one number. */
static const char graph[] =
    "{\"node\": ["
    "{\"name\":\"x\",\"op\":\"Placeholder\",\"attr\":{\"dtype\":{\"type\":\"DT_FLOAT\"},"
    "\"shape\":{\"shape\":{}}}},"
    "{\"name\":\"dims\",\"op\":\"Const\",\"attr\":{\"dtype\":{\"type\":\"DT_INT32\"},\"value\":{\"tensor\":"
    "{\"dtype\":\"DT_INT32\",\"tensorShape\":{\"dim\":[{\"size\":\"2\"}]},\"intVal\":[1024,1024]}}}},"
    "{\"name\":\"y\",\"op\":\"Fill\",\"input\":[\"dims\",\"x\"],\"attr\":{\"T\":{\"type\":\"DT_FLOAT\"}}},"
    "{\"name\":\"z\",\"op\":\"Neg\",\"input\":[\"x\"],\"attr\":{\"T\":{\"type\":\"DT_FLOAT\"}}}]}";

static void
a_step_that_takes_too_much_is_refused_with_sizes_and_the_next_one_runs(void **state)
{
    static const char *const arguments[] = {"--step-memory=1MiB", NULL};
    ClusterOptions options = {.worker_count = 1, .worker_arguments = arguments};
    Cluster cluster = {0};
    (void)state;
    assert_true(cluster_start(&cluster, &options));
    cluster_session(&cluster, "{}");
    cluster_graph(&cluster, graph);
    for (int round = 0; round < 2; round++) {
        AUTO_REST refused = {0};
        AUTO_REST good = {0};
        cluster_step(&cluster, "{\"feeds\":{\"x\":1},\"fetches\":[\"y\"]}", &refused);
        cluster_expect(&refused, 429, "RESOURCE_EXHAUSTED");
        assert_non_null(strstr(rest_text(&refused), "the step is planned to take 41943"));
        assert_non_null(strstr(rest_text(&refused), "the largest tensors 'y' 4194304"));
        assert_non_null(strstr(rest_text(&refused), "but may take 1048576"));
        cluster_step(&cluster, "{\"feeds\":{\"x\":1},\"fetches\":[\"z\"]}", &good);
        cluster_expect(&good, 200, "\"planned_bytes\":64,\"peak_bytes\":64");
    }
    assert_int_equal(cluster_worker_use(&cluster, 0).memory_in_use, 0);
    cluster_stop(&cluster);
}

/* A session may set a lower limit for its steps than the worker has; 0 leaves the limit to the worker. */
static void
a_session_lowers_what_its_steps_may_take(void **state)
{
    static const char *const arguments[] = {"--step-memory=8MiB", NULL};
    static const struct {
        const char *options;
        int status;
    } sessions[] = {
        {"{}", 200},
        {"{\"step_memory_bytes\":1048576}", 429},
        {"{\"step_memory_bytes\":6291456}", 200},
        {"{\"step_memory_bytes\":0}", 200},
    };
    ClusterOptions options = {.worker_count = 1, .worker_arguments = arguments};
    Cluster cluster = {0};
    (void)state;
    assert_true(cluster_start(&cluster, &options));
    for (size_t index = 0; index < COUNT_OF(sessions); index++) {
        AUTO_REST reply = {0};
        cluster_session(&cluster, sessions[index].options);
        cluster_graph(&cluster, graph);
        cluster_step(&cluster, "{\"feeds\":{\"x\":1},\"fetches\":[\"y\"]}", &reply);
        assert_int_equal(reply.status, sessions[index].status);
        if (reply.status != 200) {
            AUTO_REST good = {0};
            assert_non_null(strstr(rest_text(&reply), "RESOURCE_EXHAUSTED"));
            assert_non_null(strstr(rest_text(&reply), "the largest tensors 'y' 4194304"));
            assert_non_null(strstr(rest_text(&reply), "but may take 1048576"));
            cluster_step(&cluster, "{\"feeds\":{\"x\":1},\"fetches\":[\"z\"]}", &good);
            cluster_expect(&good, 200, NULL);
        }
    }
    assert_int_equal(cluster_worker_use(&cluster, 0).memory_in_use, 0);
    cluster_stop(&cluster);
}

/* The session asks for more than the worker allows. */
static void
a_session_raises_no_limit(void **state)
{
    static const char *const arguments[] = {"--step-memory=1MiB", NULL};
    ClusterOptions options = {.worker_count = 1, .worker_arguments = arguments};
    Cluster cluster = {0};
    AUTO_REST refused = {0};
    (void)state;
    assert_true(cluster_start(&cluster, &options));
    cluster_session(&cluster, "{\"step_memory_bytes\":1073741824}");
    cluster_graph(&cluster, graph);
    cluster_step(&cluster, "{\"feeds\":{\"x\":1},\"fetches\":[\"y\"]}", &refused);
    cluster_expect(&refused, 429, "but may take 1048576");
    cluster_stop(&cluster);
}

/* Rows of 1 KiB: worker 0 computes y, worker 1 computes z of it. */
static const char *const BATCHES = "x = Placeholder() dtype=float32 shape=<-1,256>\n"
                                   "y = Neg(x) T=float32 @/task:0\n"
                                   "z = Square(y) T=float32 @/task:1\n";

static void
the_first_step_of_a_batch_is_planned_on_all_its_workers(void **state)
{
    static const int rows[] = {256, 300}; /* large, since threads keep up to 64 KiB for themselves */
    Cluster *cluster = *state;
    cluster_session(cluster, "{\"slots\":2}");
    cluster_graph_literal(cluster, BATCHES);
    for (size_t index = 0; index < COUNT_OF(rows); index++) {
        AUTO_BUFFER body = {0};
        AUTO_REST reply = {0};
        char expected[64];
        buffer_append_format(&body, "{\"feeds\":{\"x\":{\"shape\":[%d,256],\"data\":[1", rows[index]);
        for (int n = 1; n < rows[index] * 256; n++) {
            buffer_append_string(&body, ",1");
        }
        buffer_append_string(&body, "]}},\"fetches\":[\"z\"]}");
        cluster_step(cluster, buffer_string(&body), &reply);
        cluster_expect(&reply, 200, NULL);
        (void)snprintf(expected, sizeof expected, "\"planned_bytes\":%d,\"peak_bytes\":%d",
            rows[index] * 1024, rows[index] * 1024);
        const char *first = strstr(rest_text(&reply), expected);
        assert_non_null(first);
        assert_non_null(strstr(first + 1, expected));
    }
}

enum { AT_ONCE = 4 };

typedef struct Caller {
    pthread_t thread;
    Cluster *cluster;
    int status;
} Caller;

static void *
call(void *argument)
{
    Caller *caller = argument;
    AUTO_REST reply = {0};
    cluster_step(caller->cluster, "{\"feeds\":{\"x\":1},\"fetches\":[\"sum\"]}", &reply);
    caller->status = reply.status;
    return NULL;
}

/* Sends all steps at once; returns whether every one was served. */
static bool
are_all_served(Cluster *cluster)
{
    Caller callers[AT_ONCE];
    bool is_served = true;
    for (int index = 0; index < AT_ONCE; index++) {
        callers[index].cluster = cluster;
        assert_int_equal(pthread_create(&callers[index].thread, NULL, call, &callers[index]), 0);
    }
    for (int index = 0; index < AT_ONCE; index++) {
        assert_int_equal(pthread_join(callers[index].thread, NULL), 0);
        is_served = is_served && callers[index].status == 200;
    }
    return is_served;
}

/* Each wants 8 MiB of 12: they run one after the other. A run waits at most a second for room, so that in a
 * round that took longer one may have been refused rightly. */
static void
steps_that_find_no_room_wait_for_each_other(void **state)
{
    enum { ROUNDS = 5 };
    static const char *const arguments[] = {"--memory=12MiB", NULL};
    ClusterOptions options = {.worker_count = 1, .worker_arguments = arguments};
    Cluster cluster = {0};
    int served_rounds = 0;
    (void)state;
    assert_true(cluster_start(&cluster, &options));
    cluster_session(&cluster, "{}");
    cluster_graph_literal(&cluster, "x = Placeholder() dtype=float32 shape=<>\n"
                                    "dims = Const() dtype=int32 value=int32<1>(2097152)\n"
                                    "axis = Const() dtype=int32 value=int32<1>(0)\n"
                                    "y = Fill(dims, x) T=float32\n"
                                    "sum = Sum(y, axis) T=float32\n");
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t begin_ns = clock_monotonic_ns();
        bool is_served = are_all_served(&cluster);
        assert_true(is_served || clock_monotonic_ns() - begin_ns > CLOCK_NS_PER_S);
        served_rounds += is_served;
    }
    assert_true(served_rounds > 0);
    cluster_stop(&cluster);
}

/* The worker has 16 MiB. The weights that the model makes of constants keep 2 of them, and the sum of y needs
 * more than 14. */
static void
constants_of_an_idle_partition_make_room_for_a_step(void **state)
{
    static const char *const arguments[] = {"--memory=16MiB", NULL};
    static const char *const fetches[] = {"weighted", "sum", "weighted"};
    ClusterOptions options = {.worker_count = 1, .worker_arguments = arguments};
    Cluster cluster = {0};
    (void)state;
    assert_true(cluster_start(&cluster, &options));
    cluster_session(&cluster, "{}");
    cluster_graph_literal(&cluster, "x = Placeholder() dtype=float32 shape=<>\n"
                                    "axis = Const() dtype=int32 value=int32<1>(0)\n"
                                    "few = Const() dtype=int32 value=int32<1>(524288)\n"
                                    "half = Const() dtype=float32 value=float32(0.5)\n"
                                    "weights = Fill(few, half) T=float32\n"
                                    "products = Mul(weights, x) T=float32\n"
                                    "weighted = Sum(products, axis) T=float32\n"
                                    "many = Const() dtype=int32 value=int32<1>(3670016)\n"
                                    "y = Fill(many, x) T=float32\n"
                                    "sum = Sum(y, axis) T=float32\n");
    for (size_t index = 0; index < COUNT_OF(fetches); index++) {
        AUTO_REST reply = {0};
        char step[64];
        (void)snprintf(step, sizeof step, "{\"feeds\":{\"x\":1},\"fetches\":[\"%s\"]}", fetches[index]);
        cluster_step(&cluster, step, &reply);
        cluster_expect(&reply, 200, index == 1 ? "3670016" : "262144");
        bool is_kept = cluster_worker_use(&cluster, 0).memory_in_use >= 524288 * 4;
        assert_int_equal(is_kept, index != 1);
    }
    cluster_stop(&cluster);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_that_takes_too_much_is_refused_with_sizes_and_the_next_one_runs),
        cmocka_unit_test(a_session_lowers_what_its_steps_may_take),
        cmocka_unit_test(a_session_raises_no_limit),
        cmocka_unit_test(steps_that_find_no_room_wait_for_each_other),
        cmocka_unit_test(constants_of_an_idle_partition_make_room_for_a_step),
        CLUSTER_TEST(the_first_step_of_a_batch_is_planned_on_all_its_workers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
