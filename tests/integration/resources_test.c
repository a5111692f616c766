/* Sessions, graphs and workers as resources over REST: pages, conditions, forms, drain marks, metrics. */
#include <signal.h>
#include <stdlib.h>

#include <curl/curl.h>

#include "tests/support/await.h"
#include "tests/support/cluster.h"
#include "tests/support/step_graphs.h"

enum { PATH_SIZE = 256 };

static const char graph[] =
    "{\"node\": [ {\"name\":\"x\",\"op\":\"Placeholder\",\"attr\":{\"dtype\":{\"type\":\"DT_FLOAT\"}}},\n"
    "  {\"name\":\"y\",\"op\":\"Identity\",\"input\":[\"x\"],\"attr\":{\"T\":{\"type\":\"DT_FLOAT\"}}} ]}";
static const char step[] = "{\"feeds\":{\"x\":1},\"fetches\":[\"y\"]}";

static void
session_path(const Cluster *cluster, char ret_path[PATH_SIZE])
{
    (void)snprintf(ret_path, PATH_SIZE, "/api/v1/sessions/%s", cluster->session);
}

/* Sends a request with one header, NULL for none; returns the status. */
static int
send_with(Cluster *cluster, const char *method, const char *path, const char *header, const char *body,
    RestResponse *ret_response)
{
    const char *const headers[] = {header, NULL};
    cluster_send_with(cluster, method, path, headers, body, ret_response);
    return ret_response->status;
}

static void
a_list_is_walked_page_by_page_without_repeats(void **state)
{
    Cluster *cluster = *state;
    enum { COUNT = 7 };
    char ids[COUNT][64];
    char path[PATH_SIZE] = "/api/v1/sessions?page_size=3";
    size_t seen = 0;
    for (size_t index = 0; index < COUNT; index++) {
        cluster_session(cluster, "{}");
        (void)snprintf(ids[index], sizeof ids[index], "%s", cluster->session);
    }
    for (int page = 0; page < 3; page++) {
        AUTO_REST response = {0};
        char token[128];
        cluster_send(cluster, "GET", path, NULL, &response);
        cluster_expect(&response, 200, NULL);
        for (size_t index = 0; index < 3 && seen < COUNT; index++) {
            /* The newest comes first. */
            assert_non_null(strstr(rest_text(&response), ids[COUNT - 1 - seen]));
            seen++;
        }
        assert_true(rest_member(&response, "next_page_token", token, sizeof token));
        assert_int_equal(token[0] == '\0', page == 2);
        assert_int_equal(rest_header(&response, "Link")[0] == '\0', page == 2);
        (void)snprintf(path, sizeof path, "/api/v1/sessions?page_size=3&page_token=%s", token);
    }
    assert_int_equal(seen, COUNT);
}

/* Expects each of the two workers on a page of its own. */
static void
walk_workers(Cluster *cluster, const char *list)
{
    enum { WORKERS = 2 };
    char path[PATH_SIZE];
    (void)snprintf(path, sizeof path, "/api/v1/%s?page_size=1", list);
    for (int page = 0; page < WORKERS; page++) {
        AUTO_REST response = {0};
        char token[128];
        char task[32];
        (void)snprintf(task, sizeof task, "/task:%d/device:CPU:0\"", page);
        cluster_send(cluster, "GET", path, NULL, &response);
        cluster_expect(&response, 200, task);
        (void)snprintf(task, sizeof task, "/task:%d/", 1 - page);
        assert_null(strstr(rest_text(&response), task));
        assert_true(rest_member(&response, "next_page_token", token, sizeof token));
        assert_int_equal(token[0] == '\0', page == WORKERS - 1);
        (void)snprintf(path, sizeof path, "/api/v1/%s?page_size=1&page_token=%s", list, token);
    }
}

static void
workers_and_devices_are_listed_in_pages_by_task(void **state)
{
    Cluster *cluster = *state;
    AUTO_REST all = {0};
    walk_workers(cluster, "workers");
    walk_workers(cluster, "devices");
    cluster_send(cluster, "GET", "/api/v1/devices", NULL, &all);
    cluster_expect(&all, 200, "\"next_page_token\":\"\"");
}

static void
a_token_is_of_no_use_to_another_list(void **state)
{
    Cluster *cluster = *state;
    char token[128];
    char path[PATH_SIZE];
    AUTO_REST page = {0};
    AUTO_REST other = {0};
    cluster_session(cluster, "{}");
    cluster_session(cluster, "{}");
    cluster_send(cluster, "GET", "/api/v1/sessions?page_size=1", NULL, &page);
    assert_true(rest_member(&page, "next_page_token", token, sizeof token));
    (void)snprintf(path, sizeof path, "/api/v1/sessions/%s/graphs?page_token=%s", cluster->session, token);
    cluster_send(cluster, "GET", path, NULL, &other);
    cluster_expect(&other, 400, NULL);
}

static void
of_two_changes_from_one_state_one_wins(void **state)
{
    Cluster *cluster = *state;
    char path[PATH_SIZE];
    char condition[80];
    AUTO_REST read = {0};
    AUTO_REST first = {0};
    AUTO_REST second = {0};
    AUTO_REST blind = {0};
    cluster_session(cluster, "{}");
    session_path(cluster, path);
    cluster_send(cluster, "GET", path, NULL, &read);
    (void)snprintf(condition, sizeof condition, "If-Match: %s", rest_header(&read, "ETag"));
    assert_int_equal(send_with(cluster, "PATCH", path, condition, "{\"name\":\"first\"}", &first), 200);
    assert_non_null(strstr(rest_text(&first), "\"name\":\"first\""));
    assert_string_not_equal(rest_header(&first, "ETag"), "\"1\"");
    assert_int_equal(send_with(cluster, "PATCH", path, condition, "{\"name\":\"second\"}", &second), 412);
    assert_int_equal(send_with(cluster, "PATCH", path, NULL, "{\"name\":\"blind\"}", &blind), 428);
    AUTO_REST last = {0};
    cluster_send(cluster, "GET", path, NULL, &last);
    assert_non_null(strstr(rest_text(&last), "\"name\":\"first\""));
}

static void
new_options_count_from_the_next_step_on(void **state)
{
    Cluster *cluster = *state;
    char path[PATH_SIZE];
    AUTO_REST changed = {0};
    AUTO_REST plan = {0};
    cluster_session(cluster, "{}");
    cluster_graph(cluster, STEP_GRAPH_AFFINE);
    session_path(cluster, path);
    assert_int_equal(send_with(cluster, "PATCH", path, "If-Match: *",
                         "{\"options\":{\"slots\":2,\"placement\":\"spread\"}}", &changed),
        200);
    assert_non_null(strstr(rest_text(&changed), "\"name\":\"test\"")); /* kept */
    (void)snprintf(path, sizeof path, "/api/v1/sessions/%s/graphs/%s:plan", cluster->session, cluster->graph);
    cluster_send(cluster, "POST", path, STEP_BODY_AFFINE, &plan);
    cluster_expect(&plan, 200, "\"slot\":1,");
}

static void
an_unknown_option_is_named(void **state)
{
    Cluster *cluster = *state;
    AUTO_REST response = {0};
    cluster_send(cluster, "POST", "/api/v1/sessions", "{\"options\":{\"speed\":9}}", &response);
    cluster_expect(&response, 400, "speed");
}

static void
a_definition_comes_back_as_it_was_sent_and_in_other_forms(void **state)
{
    Cluster *cluster = *state;
    char path[PATH_SIZE];
    char condition[128];
    AUTO_REST source = {0};
    AUTO_REST dot = {0};
    AUTO_REST same = {0};
    AUTO_REST none = {0};
    cluster_session(cluster, "{}");
    cluster_graph(cluster, graph);
    (void)snprintf(
        path, sizeof path, "/api/v1/sessions/%s/graphs/%s/definition", cluster->session, cluster->graph);
    cluster_send(cluster, "GET", path, NULL, &source);
    cluster_expect(&source, 200, NULL);
    assert_string_equal(rest_text(&source), graph);
    (void)snprintf(condition, sizeof condition, "If-None-Match: %s", rest_header(&source, "ETag"));
    assert_int_equal(send_with(cluster, "GET", path, condition, NULL, &same), 304);
    assert_int_equal(send_with(cluster, "GET", path, "Accept: text/vnd.graphviz", NULL, &dot), 200);
    assert_memory_equal(rest_text(&dot), "digraph", 7);
    assert_non_null(strstr(rest_text(&dot), "->"));
    assert_string_not_equal(rest_header(&dot, "ETag"), condition + sizeof "If-None-Match: " - 1);
    assert_int_equal(send_with(cluster, "GET", path, "Accept: image/png", NULL, &none), 406);
}

static void
a_deleted_graph_is_not_run_any_more(void **state)
{
    Cluster *cluster = *state;
    char path[PATH_SIZE];
    AUTO_REST before = {0};
    AUTO_REST deleted = {0};
    AUTO_REST read = {0};
    AUTO_REST after = {0};
    cluster_session(cluster, "{}");
    cluster_graph(cluster, graph);
    cluster_step(cluster, step, &before);
    cluster_expect(&before, 200, NULL);
    (void)snprintf(path, sizeof path, "/api/v1/sessions/%s/graphs/%s", cluster->session, cluster->graph);
    cluster_send(cluster, "DELETE", path, NULL, &deleted);
    cluster_expect(&deleted, 204, NULL);
    cluster_send(cluster, "GET", path, NULL, &read);
    cluster_expect(&read, 404, NULL);
    cluster_step(cluster, step, &after);
    assert_int_not_equal(after.status, 200);
}

/* Returns whether this gateway shows the worker w0 in this state. */
static bool
is_worker_in(const Process *gateway, const char *expected)
{
    char path[PATH_SIZE];
    char name[32] = "";
    AUTO_REST worker;
    (void)snprintf(path, sizeof path, "http://%s/api/v1/workers/w0", gateway->address);
    rest_send(&(RestRequest){.url = path}, &worker);
    return rest_member(&worker, "state", name, sizeof name) && strcmp(name, expected) == 0;
}

static void
a_drain_mark_reaches_every_gateway_and_keeps_steps_away(void **state)
{
    Cluster *cluster = *state;
    static const char drain[] = "/api/v1/workers/w0:drain";
    Process second = {0};
    char task[24];
    AUTO_REST drained = {0};
    AUTO_REST undrained = {0};
    assert_true(cluster_add_gateway(cluster, &second));
    cluster_send(cluster, "POST", drain, NULL, &drained);
    cluster_expect(&drained, 200, "\"state\":\"draining\"");
    const char *number = strstr(rest_text(&drained), "\"task\":");
    assert_non_null(number);
    (void)snprintf(task, sizeof task, "%.*s", (int)strcspn(number, ","), number);
    AWAIT(is_worker_in(&cluster->gateway, "draining"));
    AWAIT(is_worker_in(&second, "draining"));
    cluster_session(cluster, "{}");
    cluster_graph(cluster, graph);
    for (int round = 0; round < 6; round++) {
        AUTO_REST response = {0};
        cluster_step(cluster, step, &response);
        cluster_expect(&response, 200, NULL);
        assert_null(strstr(rest_text(&response), task));
    }
    cluster_send(cluster, "POST", drain, "{\"draining\":false}", &undrained);
    cluster_expect(&undrained, 200, NULL);
    AWAIT(is_worker_in(&cluster->gateway, "serving"));
    AWAIT(is_worker_in(&second, "serving"));
    (void)process_stop(&second, SIGTERM);
}

/* A worker that is not noted again would be forgotten in time, though it serves. */
static void
a_worker_that_was_noted_long_ago_is_noted_again(void **state)
{
    Cluster *cluster = *state;
    static const char recent[] =
        "select count(*) from workers where last_seen_at > now() - interval '30 min'";
    AWAIT(is_worker_in(&cluster->gateway, "serving"));
    const char *all = database_ask(cluster->database, "select count(*) from workers");
    char count[24];
    (void)snprintf(count, sizeof count, "%s", all);
    (void)database_ask(cluster->database, "update workers set last_seen_at = now() - interval '2 h'");
    AWAIT(database_says(cluster->database, recent, count));
}

static void
an_unknown_worker_is_not_found(void **state)
{
    Cluster *cluster = *state;
    AUTO_REST read = {0};
    AUTO_REST drained = {0};
    cluster_send(cluster, "GET", "/api/v1/workers/nobody", NULL, &read);
    cluster_expect(&read, 404, NULL);
    cluster_send(cluster, "POST", "/api/v1/workers/nobody:drain", NULL, &drained);
    cluster_expect(&drained, 404, NULL);
}

static void
metrics_count_requests_steps_and_workers(void **state)
{
    Cluster *cluster = *state;
    AUTO_REST fine = {0};
    AUTO_REST wrong = {0};
    cluster_session(cluster, "{}");
    cluster_graph(cluster, graph);
    double steps = cluster_metric(cluster, "sluice_steps_total{outcome=\"succeeded\"}");
    double asked = cluster_metric(cluster, "sluice_requests_total{operation=\"createStep\",class=\"2xx\"}");
    double refused = cluster_metric(cluster, "sluice_requests_total{operation=\"createStep\",class=\"4xx\"}");
    cluster_step(cluster, step, &fine);
    cluster_step(cluster, "{}", &wrong);
    cluster_expect(&fine, 200, NULL);
    cluster_expect(&wrong, 400, NULL);
    assert_true(cluster_metric(cluster, "sluice_steps_total{outcome=\"succeeded\"}") == steps + 1);
    assert_true(cluster_metric(cluster, "sluice_step_seconds_count") == steps + 1);
    assert_true(cluster_metric(cluster, "sluice_requests_total{operation=\"createStep\",class=\"2xx\"}") ==
                asked + 1);
    assert_true(cluster_metric(cluster, "sluice_requests_total{operation=\"createStep\",class=\"4xx\"}") ==
                refused + 1);
    assert_true(cluster_metric(cluster, "sluice_workers{state=\"serving\"}") == 2);
    assert_true(cluster_metric(cluster, "sluice_steps_running") == 0);
    assert_true(cluster_metric(cluster, "sluice_plan_cache_lookups_total{result=\"miss\"}") >= 1);
    assert_true(cluster_metric(cluster, "sluice_step_records_lost_total") == 0);
}

static size_t
take(char *data, size_t size, size_t count, void *context)
{
    buffer_append(context, data, size * count);
    return size * count;
}

/* Gets a page of a worker, which speaks HTTP/2 without TLS from the first byte. */
static void
get_http2(const char *url, RestResponse *ret_response)
{
    CURL *curl = curl_easy_init();
    (void)curl_easy_setopt(curl, CURLOPT_URL, url);
    (void)curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEDATA, &ret_response->body);
    assert_int_equal(curl_easy_perform(curl), CURLE_OK);
    curl_easy_cleanup(curl);
}

/* Returns how many runs both workers have counted. */
static double
worker_runs(const Cluster *cluster)
{
    static const char series[] = "\nsluice_worker_runs_total{outcome=\"succeeded\"} ";
    double runs = 0;
    for (int index = 0; index < 2; index++) {
        char url[PATH_SIZE];
        AUTO_REST metrics = {0};
        (void)snprintf(url, sizeof url, "http://%s/worker/v1/metrics", cluster->workers[index].address);
        get_http2(url, &metrics);
        const char *found = strstr(rest_text(&metrics), series);
        assert_non_null(found);
        runs += strtod(found + sizeof series - 1, NULL);
        assert_non_null(strstr(rest_text(&metrics), "sluice_worker_cache_bytes{cache=\"partitions\"} "));
    }
    return runs;
}

static void
workers_count_what_they_run(void **state)
{
    Cluster *cluster = *state;
    AUTO_REST response = {0};
    cluster_session(cluster, "{}");
    cluster_graph(cluster, graph);
    double before = worker_runs(cluster);
    cluster_step(cluster, step, &response);
    cluster_expect(&response, 200, NULL);
    assert_true(worker_runs(cluster) == before + 1);
}

/* Sends what a page in a browser on this machine can send without the gateway's leave: a POST whose body has
 * no type, and everything once the page's own name leads here. */
static int
ask_as_a_page(Cluster *cluster, const char *method, const char *path, const char *header)
{
    const char *const headers[] = {header, "Content-Type:", NULL};
    AUTO_REST response = {0};
    cluster_send_with(cluster, method, path, headers, (*method == 'P') ? "{}" : NULL, &response);
    return response.status;
}

static void
pages_of_other_hosts_cannot_use_a_gateway_without_keys(void **state)
{
    Cluster *cluster = *state;
    static const char *const pages[] = {"Origin: https://evil.example", "Origin: null", "Host: evil.example"};
    for (size_t index = 0; index < COUNT_OF(pages); index++) {
        assert_int_equal(ask_as_a_page(cluster, "POST", "/api/v1/sessions", pages[index]), 403);
        assert_int_equal(ask_as_a_page(cluster, "POST", "/api/v1/containers:reset", pages[index]), 403);
        assert_int_equal(ask_as_a_page(cluster, "GET", "/api/v1/sessions", pages[index]), 403);
        assert_int_equal(ask_as_a_page(cluster, "GET", "/livez", pages[index]), 200);
    }
    assert_int_equal(
        ask_as_a_page(cluster, "POST", "/api/v1/sessions", "Origin: http://localhost:3000"), 201);
}

static void
a_problem_leads_to_its_page(void **state)
{
    Cluster *cluster = *state;
    char type[64];
    AUTO_REST problem = {0};
    AUTO_REST page = {0};
    AUTO_REST none = {0};
    cluster_send(cluster, "GET", "/api/v1/workers/nobody", NULL, &problem);
    assert_true(rest_member(&problem, "type", type, sizeof type));
    assert_string_equal(type, "/problems/not-found");
    cluster_send(cluster, "GET", type, NULL, &page);
    cluster_expect(&page, 200, NULL);
    assert_memory_equal(rest_text(&page), "NOT_FOUND (HTTP 404)\n", 21);
    cluster_send(cluster, "GET", "/problems/unheard-of", NULL, &none);
    cluster_expect(&none, 404, NULL);
}

static void
head_and_options_answer_on_every_path(void **state)
{
    Cluster *cluster = *state;
    AUTO_REST head = {0};
    AUTO_REST options = {0};
    AUTO_REST wrong = {0};
    cluster_send(cluster, "HEAD", "/api/v1/sessions", NULL, &head);
    cluster_expect(&head, 200, NULL);
    assert_int_equal(head.body.size, 0);
    cluster_send(cluster, "OPTIONS", "/api/v1/sessions", NULL, &options);
    assert_int_equal(options.status / 100, 2);
    assert_string_equal(rest_header(&options, "Allow"), "GET, HEAD, POST, OPTIONS");
    cluster_send(cluster, "DELETE", "/api/v1/sessions", NULL, &wrong);
    cluster_expect(&wrong, 405, NULL);
    assert_string_equal(rest_header(&wrong, "Allow"), "GET, HEAD, POST, OPTIONS");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_is_walked_page_by_page_without_repeats),
        cmocka_unit_test(workers_and_devices_are_listed_in_pages_by_task),
        cmocka_unit_test(a_token_is_of_no_use_to_another_list),
        cmocka_unit_test(of_two_changes_from_one_state_one_wins),
        cmocka_unit_test(new_options_count_from_the_next_step_on),
        cmocka_unit_test(an_unknown_option_is_named),
        cmocka_unit_test(a_definition_comes_back_as_it_was_sent_and_in_other_forms),
        cmocka_unit_test(a_deleted_graph_is_not_run_any_more),
        cmocka_unit_test(a_drain_mark_reaches_every_gateway_and_keeps_steps_away),
        cmocka_unit_test(a_worker_that_was_noted_long_ago_is_noted_again),
        cmocka_unit_test(an_unknown_worker_is_not_found),
        cmocka_unit_test(metrics_count_requests_steps_and_workers),
        cmocka_unit_test(workers_count_what_they_run),
        cmocka_unit_test(pages_of_other_hosts_cannot_use_a_gateway_without_keys),
        cmocka_unit_test(a_problem_leads_to_its_page),
        cmocka_unit_test(head_and_options_answer_on_every_path),
    };
    return cmocka_run_group_tests_name("resources", tests, cluster_setup, cluster_teardown);
}
