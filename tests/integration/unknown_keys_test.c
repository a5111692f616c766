/* Keys that do not exist: whoever floods a gateway with them keeps nobody else waiting. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "gateway/domain/api_key.h"
#include "tests/support/cluster.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/raw_http.h"

enum { FLOOD = 300, TIMEOUT_MS = 60000 };

static const char *const arguments[] = {"--job-threads", "1", NULL};
static Cluster cluster;

static int
set_up(void **state)
{
    (void)state;
    ClusterOptions options = {.worker_count = 1, .has_keys = true, .gateway_arguments = arguments};
    return cluster_start(&cluster, &options) ? 0 : -1;
}

static int
tear_down(void **state)
{
    (void)state;
    cluster_stop(&cluster);
    return 0;
}

static void
list_sessions(const char *key, RestResponse *ret_response)
{
    const char *const headers[] = {key, NULL};
    cluster_send_with(&cluster, "GET", "/api/v1/sessions", headers, NULL, ret_response);
}

static void
write_header(const ApiKey *key, char ret_header[CLUSTER_KEY_SIZE])
{
    char text[API_KEY_TEXT_SIZE];
    api_key_to_text(key, text);
    (void)snprintf(ret_header, CLUSTER_KEY_SIZE, "Authorization: Bearer %s", text);
}

static void
assert_refused(const ApiKey *key)
{
    char header[CLUSTER_KEY_SIZE];
    AUTO_REST response = {0};
    write_header(key, header);
    list_sessions(header, &response);
    cluster_expect(&response, 401, "\"detail\":\"the API key is not valid\"");
}

static void
whatever_is_wrong_with_a_key_is_said_in_the_same_words(void **state)
{
    (void)state;
    static const char bearer[] = "Authorization: Bearer ";
    char header[CLUSTER_KEY_SIZE];
    ApiKey good;
    ApiKey forged = api_key_new();
    ApiKey unknown = api_key_new();
    AUTO_REST served = {0};
    cluster_make_key(&cluster, "acme", NULL, header);
    assert_true(api_key_from_text(slice_from_string(header + strlen(bearer)), &good));
    memcpy(forged.id, good.id, sizeof good.id);
    assert_refused(&unknown);
    assert_refused(&forged);
    list_sessions(header, &served);
    cluster_expect(&served, 200, NULL);
    assert_refused(&forged);
}

/* The gateway has one job thread. The flood's requests have all been sent, and no reply been
 * read, when the others come. */
static void
a_new_key_and_a_known_one_are_served_in_a_flood(void **state)
{
    (void)state;
    static int flood[FLOOD];
    char known[CLUSTER_KEY_SIZE];
    char fresh[CLUSTER_KEY_SIZE];
    char reply[RAW_REPLY_SIZE];
    AUTO_REST before = {0};
    AUTO_REST during = {0};
    AUTO_REST first = {0};
    cluster_make_key(&cluster, "known", NULL, known);
    list_sessions(known, &before);
    cluster_expect(&before, 200, NULL);
    cluster_make_key(&cluster, "fresh", NULL, fresh);
    for (int index = 0; index < FLOOD; index++) {
        char header[CLUSTER_KEY_SIZE];
        char request[CLUSTER_KEY_SIZE + 128];
        ApiKey key = api_key_new();
        write_header(&key, header);
        (void)snprintf(request, sizeof request,
            "GET /api/v1/sessions HTTP/1.1\r\nHost: localhost\r\n%s\r\n\r\n", header);
        flood[index] = raw_open(cluster.gateway.address);
        raw_send_text(flood[index], request);
    }
    list_sessions(fresh, &first);
    cluster_expect(&first, 200, NULL);
    list_sessions(known, &during);
    cluster_expect(&during, 200, NULL);
    for (int index = 0; index < FLOOD; index++) {
        assert_int_equal(raw_reply(flood[index], reply, TIMEOUT_MS), 401);
        (void)close(flood[index]);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatever_is_wrong_with_a_key_is_said_in_the_same_words),
        cmocka_unit_test(a_new_key_and_a_known_one_are_served_in_a_flood),
    };
    return cmocka_run_group_tests_name("unknown keys", tests, set_up, tear_down);
}
