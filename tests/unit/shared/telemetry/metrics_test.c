#include <pthread.h>

#include "shared/telemetry/metrics.h"
#include "tests/support/cmocka_all.h"

static const char *const outcomes[] = {"ok", "lost \"x\"\n"};
static const char *const routes[] = {"a", "b"};
static const int64_t bounds[] = {100, 2500, 1000000};

static const char *
code_at(size_t index)
{
    static const char *const codes[] = {"200", NULL, "404"};
    return codes[index];
}

static int64_t
read_answer(size_t series)
{
    return 42 + (int64_t)series;
}

/* Metrics defined as modules define theirs. */
METRIC_DEFINE(metric_steps, COUNT_OF(outcomes), .name = "t_steps_total", .kind = METRIC_COUNTER,
    .help = "Steps.", .labels = {METRIC_LABEL("outcome", outcomes)});
METRIC_DEFINE(metric_requests, 2 * 3, .name = "t_requests_total", .kind = METRIC_COUNTER, .help = "Requests.",
    .labels = {METRIC_LABEL("route", routes), {.name = "code", .value_at = code_at, .value_count = 3}});
METRIC_DEFINE(metric_inflight, 1, .name = "t_inflight", .kind = METRIC_GAUGE, .help = "Now.");
METRIC_HISTOGRAM_DEFINE(metric_seconds, COUNT_OF(routes), bounds, .name = "t_seconds", .help = "How long.",
    .scale = 1e-6, .labels = {METRIC_LABEL("route", routes)});
METRIC_DEFINE(
    metric_answer, 1, .name = "t_answer", .kind = METRIC_READ, .help = "Asked.", .read = read_answer);

static const Metric *const metrics[] = {
    &metric_steps, &metric_requests, &metric_inflight, &metric_seconds, &metric_answer};

enum { THREADS = 12, ROUNDS = 1000 };

static void *
count_rounds(void *argument)
{
    (void)argument;
    for (int round = 0; round < ROUNDS; round++) {
        metric_add(&metric_inflight, 0, 1);
    }
    return NULL;
}

static void
threads_add_without_losing_any(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    for (int index = 0; index < THREADS; index++) {
        assert_int_equal(pthread_create(&threads[index], NULL, count_rounds, NULL), 0);
    }
    for (int index = 0; index < THREADS; index++) {
        assert_int_equal(pthread_join(threads[index], NULL), 0);
    }
    assert_int_equal(metric_value(&metric_inflight, 0), THREADS * ROUNDS);
    metric_add(&metric_inflight, 0, 7 - THREADS * ROUNDS);
}

static void
the_text_is_what_prometheus_reads(void **state)
{
    (void)state;
    metric_add(&metric_steps, 1, 3);
    metric_add(&metric_requests, metric_series(&metric_requests, 1, 2), 9);
    metric_observe(&metric_seconds, 1, 100);
    metric_observe(&metric_seconds, 1, 101);
    metric_observe(&metric_seconds, 1, 2000000);
    const MetricTable tables[] = {{.metrics = metrics, .count = COUNT_OF(metrics)}};
    AUTO_BUFFER buffer = {0};
    metrics_write(tables, COUNT_OF(tables), &buffer);
    assert_string_equal(buffer_string(&buffer),
        "# HELP t_steps_total Steps.\n# TYPE t_steps_total counter\n"
        "t_steps_total{outcome=\"ok\"} 0\nt_steps_total{outcome=\"lost \\\"x\\\"\\n\"} 3\n"
        "# HELP t_requests_total Requests.\n# TYPE t_requests_total counter\n"
        "t_requests_total{route=\"a\",code=\"200\"} 0\nt_requests_total{route=\"a\",code=\"404\"} 0\n"
        "t_requests_total{route=\"b\",code=\"200\"} 0\nt_requests_total{route=\"b\",code=\"404\"} 9\n"
        "# HELP t_inflight Now.\n# TYPE t_inflight gauge\nt_inflight 7\n"
        "# HELP t_seconds How long.\n# TYPE t_seconds histogram\n"
        "t_seconds_bucket{route=\"a\",le=\"0.0001\"} 0\nt_seconds_bucket{route=\"a\",le=\"0.0025\"} 0\n"
        "t_seconds_bucket{route=\"a\",le=\"1\"} 0\nt_seconds_bucket{route=\"a\",le=\"+Inf\"} 0\n"
        "t_seconds_sum{route=\"a\"} 0\nt_seconds_count{route=\"a\"} 0\n"
        "t_seconds_bucket{route=\"b\",le=\"0.0001\"} 1\nt_seconds_bucket{route=\"b\",le=\"0.0025\"} 2\n"
        "t_seconds_bucket{route=\"b\",le=\"1\"} 2\nt_seconds_bucket{route=\"b\",le=\"+Inf\"} 3\n"
        "t_seconds_sum{route=\"b\"} 2.000201\nt_seconds_count{route=\"b\"} 3\n"
        "# HELP t_answer Asked.\n# TYPE t_answer gauge\nt_answer 42\n");
    assert_int_equal(metric_value(&metric_seconds, 1), 3);
}

static void
a_gauge_is_set_and_set_again(void **state)
{
    (void)state;
    static const char *const names[] = {"n"};
    METRIC_DEFINE(gauge, COUNT_OF(names), .name = "t_gauge", .kind = METRIC_GAUGE, .help = "Set.",
        .labels = {METRIC_LABEL("name", names)});
    metric_set(&gauge, 0, 5);
    metric_set(&gauge, 0, -2);
    assert_int_equal(metric_value(&gauge, 0), -2);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_add_without_losing_any),
        cmocka_unit_test(the_text_is_what_prometheus_reads),
        cmocka_unit_test(a_gauge_is_set_and_set_again),
    };
    return cmocka_run_group_tests_name("shared/telemetry/metrics", tests, NULL, NULL);
}
