/* No tenant reaches another one's things: every route of the gateway is asked with another tenant's ids,
 * without a key, with wrong ones and with a revoked one. A route without a case here fails. */
#include <signal.h>

#include "gateway/auth/auth.h"
#include "gateway/http/handler.h"
#include "shared/crypto/digest.h"
#include "tests/support/await.h"
#include "tests/support/cluster.h"

enum { KEY_SIZE = CLUSTER_KEY_SIZE, PATH_SIZE = 512 };

typedef enum Kind {
    PUBLIC,   /* asks for no key */
    OWNED,    /* names a thing of a tenant: another tenant gets 404 */
    OWN,      /* the caller's own list or new thing: shows nothing of another tenant */
    SHARED,   /* the same for all tenants: workers, devices, limits */
    OPERATOR, /* other keys get 404 */
    WORKER,   /* no key opens it: the workers' token does */
} Kind;

typedef struct Case {
    const char *operation_id;
    Kind kind;
    Slice body;         /* one that the owner is served with; may be empty */
    const char *header; /* likewise; NULL: none */
} Case;

static const char graph[] =
    "{\"node\":["
    "{\"name\":\"x\",\"op\":\"Placeholder\",\"attr\":{\"dtype\":{\"type\":\"DT_FLOAT\"}}},"
    "{\"name\":\"y\",\"op\":\"Identity\",\"input\":[\"x\"],\"attr\":{\"T\":{\"type\":\"DT_FLOAT\"}}}]}";
static const char addition[] = "{\"node\":[{\"name\":\"z\",\"op\":\"Identity\",\"input\":[\"y\"],\"attr\":{"
                               "\"T\":{\"type\":\"DT_FLOAT\"}}}]}";
static const char step[] = "{\"feeds\":{\"x\":1},\"fetches\":[\"y\"],\"options\":{\"trace\":\"partition\"}}";
static const char partial_run[] =
    "{\"feeds\":[\"x\"],\"fetches\":[\"y\"],\"options\":{\"timeout_ms\":60000}}";
static const char join[] = "{\"address\":\"127.0.0.1:9\",\"incarnation\":\"0123456789abcdef\"}";
static const char stage[] = "{\"feeds\":{\"x\":1}}";

/* The .npy file of the number 1. */
static const char npy[] = "\x93NUMPY\x01\x00\x38\x00{'descr': '<f4', 'fortran_order': False, 'shape': (), }\n"
                          "\x00\x00\x80\x3f";

#define TEXT(text)                                                                                           \
    {                                                                                                        \
        .data = (text), .size = sizeof(text) - 1                                                             \
    }
#define NOTHING                                                                                              \
    {                                                                                                        \
        .data = NULL                                                                                         \
    }

static const Case cases[] = {
    {"cancelStep", OWNED, NOTHING, NULL},
    {"compileGraph", OWNED, TEXT(step), NULL},
    {"continuePartialRun", OWNED, TEXT(stage), NULL},
    {"createGraph", OWNED, TEXT(graph), NULL},
    {"createPartialRun", OWNED, TEXT(partial_run), NULL},
    {"createSession", OWN, TEXT("{}"), NULL},
    {"createStep", OWNED, TEXT(step), NULL},
    {"createTicket", OWN, TEXT("{\"path\":\"/api/v1/events\"}"), NULL},
    {"deleteBlob", OWNED, NOTHING, NULL},
    {"deleteGraph", OWNED, NOTHING, NULL},
    {"deletePartialRun", OWNED, NOTHING, NULL},
    {"deleteSession", OWNED, NOTHING, NULL},
    {"docs", PUBLIC, NOTHING, NULL},
    {"drainWorker", OPERATOR, TEXT("{\"draining\":false}"), NULL},
    {"explainPlan", OWNED, TEXT(step), NULL},
    {"extendGraph", OWNED, TEXT(addition), "If-Match: *"},
    {"getBlob", OWNED, NOTHING, NULL},
    {"getGraph", OWNED, NOTHING, NULL},
    {"getGraphDefinition", OWNED, NOTHING, NULL},
    {"getLimits", SHARED, NOTHING, NULL},
    {"getPartialRun", OWNED, NOTHING, NULL},
    {"getProblem", PUBLIC, NOTHING, NULL},
    {"getQueue", OWN, NOTHING, NULL},
    {"getSession", OWNED, NOTHING, NULL},
    {"getStep", OWNED, NOTHING, NULL},
    {"getStepOutput", OWNED, NOTHING, NULL},
    {"getStepTrace", OWNED, NOTHING, NULL},
    {"getTensor", OWNED, NOTHING, NULL},
    {"getWorker", SHARED, NOTHING, NULL},
    {"getWorkerPeers", OPERATOR, NOTHING, NULL},
    {"index", PUBLIC, NOTHING, NULL},
    {"joinWorker", WORKER, TEXT(join), NULL},
    {"leaveWorker", WORKER, NOTHING, NULL},
    {"listDevices", SHARED, NOTHING, NULL},
    {"listGraphs", OWNED, NOTHING, NULL},
    {"listJobs", OWN, NOTHING, NULL},
    {"listSessions", OWN, NOTHING, NULL},
    {"listSteps", OWNED, NOTHING, NULL},
    {"listWorkers", SHARED, NOTHING, NULL},
    {"livez", PUBLIC, NOTHING, NULL},
    {"metrics", PUBLIC, NOTHING, NULL},
    {"openapiJson", PUBLIC, NOTHING, NULL},
    {"openapiYaml", PUBLIC, NOTHING, NULL},
    {"putBlob", OWN, TEXT(npy), NULL},
    {"putTensor", OWN, TEXT(npy), NULL},
    {"readyz", PUBLIC, NOTHING, NULL},
    {"resetContainers", OWN, TEXT("{}"), NULL},
    {"updateSession", OWNED, TEXT("{\"name\":\"mine\"}"), "If-Match: \"1\""},
    {"watchEvents", OWN, NOTHING, NULL},
    {"watchSession", OWNED, NOTHING, NULL},
    {"watchStep", OWNED, NOTHING, NULL},
};

static Cluster cluster;
static char owner[KEY_SIZE];
static char stranger[KEY_SIZE];
static char operator_key[KEY_SIZE];

static int
set_up(void **state)
{
    (void)state;
    if (!cluster_start(&cluster, &(ClusterOptions){.has_keys = true})) {
        return -1;
    }
    cluster_make_key(&cluster, "owner", NULL, owner);
    cluster_make_key(&cluster, "stranger", NULL, stranger);
    cluster_make_key(&cluster, "operations", "operator", operator_key);
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    cluster_stop(&cluster);
    return 0;
}

static const Case *
case_find(const Handler *handler)
{
    for (size_t index = 0; index < COUNT_OF(cases); index++) {
        if (strcmp(cases[index].operation_id, handler->operation_id) == 0) {
            return &cases[index];
        }
    }
    fail_msg("the route %s %s (%s) has no case here: add a row to cases[] in %s", handler->method,
        handler->path, handler->operation_id, __FILE__);
    return NULL;
}

/* Uploads the owner's tensor; returns its digest. */
static const char *
tensor_make(void)
{
    static char digest[SHA256_HEX_SIZE];
    char url[PATH_SIZE];
    const char *const headers[] = {owner, NULL};
    Sha256 sum;
    AUTO_REST response = {0};
    sha256(slice_of(npy, sizeof npy - 1), &sum);
    sha256_to_hex(&sum, digest);
    (void)snprintf(url, sizeof url, "http://%s/api/v1/tensors/%s", cluster.gateway.address, digest);
    RestRequest request = {
        .method = "PUT",
        .url = url,
        .content_type = "application/x-npy",
        .body = slice_of(npy, sizeof npy - 1),
        .headers = headers,
    };
    rest_send(&request, &response);
    assert_int_equal(response.status / 100, 2);
    return digest;
}

/* Makes a thing of the owner's that stands in for {name}, anew for each request. */
static void
parameter_make(Slice name, char ret_value[KEY_SIZE])
{
    const char *value = "";
    (void)snprintf(cluster.key, sizeof cluster.key, "%s", owner);
    if (slice_equals_string(name, "session")) {
        cluster_session(&cluster, "{}");
        cluster_graph(&cluster, graph);
        value = cluster.session;
    } else if (slice_equals_string(name, "graph")) {
        value = cluster.graph;
    } else if (slice_equals_string(name, "step")) {
        cluster_queued_step(&cluster, step);
        value = cluster.step;
    } else if (slice_equals_string(name, "run")) {
        cluster_partial_run(&cluster, partial_run);
        value = cluster.partial_run;
    } else if (slice_equals_string(name, "sha256")) {
        value = tensor_make();
    } else if (slice_equals_string(name, "name")) {
        value = "y";
    } else if (slice_equals_string(name, "worker")) {
        value = "w0";
    } else if (slice_equals_string(name, "code")) {
        value = "not-found";
    } else {
        fail_msg("nothing of a tenant's is known to stand in for '{%.*s}'", SLICE_PRINT(name));
    }
    (void)snprintf(ret_value, KEY_SIZE, "%s", value);
}

static void
path_make(const Handler *handler, char ret_path[PATH_SIZE])
{
    size_t size = 0;
    for (const char *letter = handler->path; *letter != '\0'; letter++) {
        char value[KEY_SIZE] = {*letter, '\0'};
        if (*letter == '{') {
            Slice name = slice_of(letter + 1, strcspn(letter + 1, "}"));
            parameter_make(name, value);
            letter += name.size + 1;
        }
        size += (size_t)snprintf(ret_path + size, PATH_SIZE - size, "%s", value);
    }
}

/* Sends the handler's request with this key, NULL for none; returns the status. */
static int
ask(const Handler *handler, const char *path, const char *key, RestResponse *ret_response)
{
    const Case *given = case_find(handler);
    char url[PATH_SIZE + 64];
    const char *headers[3] = {NULL};
    size_t count = 0;
    (void)snprintf(url, sizeof url, "http://%s%s", cluster.gateway.address, path);
    if (key != NULL) {
        headers[count++] = key;
    }
    if (given->header != NULL) {
        headers[count++] = given->header;
    }
    RestRequest request = {
        .method = handler->takes_tickets ? "HEAD" : handler->method, /* a stream of events has no end */
        .url = url,
        .content_type = given->body.data == npy ? "application/x-npy" : NULL,
        .body = given->body,
        .headers = headers,
    };
    rest_send(&request, ret_response);
    return ret_response->status;
}

static void
assert_answer(const Handler *handler, const char *key, int expected)
{
    char path[PATH_SIZE];
    AUTO_REST response = {0};
    path_make(handler, path);
    int status = ask(handler, path, key, &response);
    bool is_expected = expected == 200 ? status / 100 == 2 : status == expected;
    if (!is_expected) {
        fail_msg(
            "%s %s: status %d, not %d: %s", handler->method, path, status, expected, rest_text(&response));
    }
}

static void
every_case_is_a_route(void **state)
{
    (void)state;
    for (size_t index = 0; index < handler_table_count; index++) {
        const Case *given = case_find(handler_table[index]);
        assert_int_equal(given->kind == PUBLIC, handler_table[index]->access == ACCESS_PUBLIC);
        assert_int_equal(given->kind == OPERATOR, handler_table[index]->access == ACCESS_OPERATOR);
        assert_int_equal(given->kind == WORKER, handler_table[index]->access == ACCESS_WORKER);
    }
    assert_int_equal(COUNT_OF(cases), handler_table_count);
}

static void
every_route_with_another_tenants_id_is_not_found(void **state)
{
    (void)state;
    for (size_t index = 0; index < handler_table_count; index++) {
        const Handler *handler = handler_table[index];
        if (case_find(handler)->kind == OWNED) {
            assert_answer(handler, stranger, 404);
            assert_answer(handler, operator_key, 404); /* an operator is not every tenant */
            assert_answer(handler, owner, 200);
        }
    }
}

static void
what_a_stranger_is_told_is_what_nobody_is_told(void **state)
{
    (void)state;
    char other[KEY_SIZE];
    AUTO_REST foreign = {0};
    AUTO_REST absent = {0};
    parameter_make(SLICE("session"), other);
    char path[PATH_SIZE];
    (void)snprintf(cluster.key, sizeof cluster.key, "%s", stranger);
    (void)snprintf(path, sizeof path, "/api/v1/sessions/%s", other);
    cluster_send(&cluster, "GET", path, NULL, &foreign);
    cluster_send(&cluster, "GET", "/api/v1/sessions/ses_01a1fe02d3577617b82d5dfb623f35b3", NULL, &absent);
    char told[256];
    assert_true(rest_member(&foreign, "detail", told, sizeof told));
    char expected[256];
    (void)snprintf(expected, sizeof expected, "session '%s' does not exist", other);
    assert_string_equal(told, expected);
    assert_true(rest_member(&absent, "detail", told, sizeof told));
    assert_string_equal(told, "session 'ses_01a1fe02d3577617b82d5dfb623f35b3' does not exist");
}

static void
a_list_holds_nothing_of_another_tenant(void **state)
{
    (void)state;
    char session[KEY_SIZE];
    parameter_make(SLICE("session"), session);
    cluster_queued_step(&cluster, step);
    for (size_t index = 0; index < handler_table_count; index++) {
        const Handler *handler = handler_table[index];
        char path[PATH_SIZE];
        AUTO_REST response = {0};
        if (case_find(handler)->kind != OWN) {
            continue;
        }
        path_make(handler, path);
        assert_int_equal(ask(handler, path, stranger, &response) / 100, 2);
        assert_null(strstr(rest_text(&response), session));
    }
}

static void
every_route_but_the_public_asks_for_a_key(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        NULL,
        "Authorization: Bearer nonsense",
        "Authorization: Bearer slk_AAAAAAAAAAAA_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA_000000",
        "Authorization: Basic c2x1aWNlOnNsdWljZQ==",
        "Authorization: Digest username=\"a\"",
    };
    for (size_t index = 0; index < handler_table_count; index++) {
        const Handler *handler = handler_table[index];
        bool is_public = case_find(handler)->kind == PUBLIC;
        for (size_t key = 0; key < COUNT_OF(wrong); key++) {
            if (!is_public) {
                assert_answer(handler, wrong[key], 401);
            } else if (wrong[key] == NULL) {
                assert_answer(handler, NULL, 200);
            }
        }
    }
}

/* The id of one key with the secret of another. */
static void
a_known_id_with_another_secret_is_refused(void **state)
{
    (void)state;
    char own[KEY_SIZE];
    char mixed[KEY_SIZE];
    AUTO_REST response = {0};
    size_t id_start = sizeof "Authorization: Bearer slk_" - 1;
    (void)snprintf(own, sizeof own, "%s", owner);
    (void)snprintf(mixed, sizeof mixed, "%s", stranger);
    memcpy(mixed + id_start, own + id_start, 12);
    (void)snprintf(cluster.key, sizeof cluster.key, "%s", mixed);
    cluster_send(&cluster, "GET", "/api/v1/sessions", NULL, &response);
    cluster_expect(&response, 401, NULL);
}

static void
operator_routes_are_not_there_for_tenants(void **state)
{
    (void)state;
    size_t count = 0;
    for (size_t index = 0; index < handler_table_count; index++) {
        const Handler *handler = handler_table[index];
        if (case_find(handler)->kind == OPERATOR) {
            assert_answer(handler, owner, 404);
            assert_answer(handler, operator_key, 200);
            count++;
        }
    }
    assert_true(count > 0);
}

static void
no_key_makes_a_worker(void **state)
{
    (void)state;
    size_t count = 0;
    for (size_t index = 0; index < handler_table_count; index++) {
        const Handler *handler = handler_table[index];
        if (case_find(handler)->kind == WORKER) {
            assert_answer(handler, owner, 401);
            assert_answer(handler, operator_key, 401);
            count++;
        }
    }
    assert_true(count > 0);
}

static void
what_all_tenants_share_is_the_same_for_all(void **state)
{
    (void)state;
    for (size_t index = 0; index < handler_table_count; index++) {
        const Handler *handler = handler_table[index];
        if (case_find(handler)->kind == SHARED) {
            assert_answer(handler, owner, 200);
            assert_answer(handler, stranger, 200);
        }
    }
}

static int
status_at(const char *address, const char *key)
{
    AUTO_REST response = {0};
    char url[PATH_SIZE];
    const char *const headers[] = {key, NULL};
    (void)snprintf(url, sizeof url, "http://%s/api/v1/sessions", address);
    rest_send(&(RestRequest){.method = "GET", .url = url, .headers = headers}, &response);
    return response.status;
}

static void
revoke_key(const char *key)
{
    char sql[256];
    (void)snprintf(sql, sizeof sql,
        "update sluice.api_keys set revoked_at = now() where id = '%.12s' returning id",
        key + sizeof "Authorization: Bearer slk_" - 1);
    assert_int_equal(strlen(database_ask(cluster.database, sql)), 12);
}

/* A key of which no gateway was told serves for AUTH_FRESH_MS. A machine that is busy may take half of that
 * for other reasons: one of several keys is enough. */
enum { KEYS_TRIED = 10 };

static bool
was_at_once(uint64_t since_ns)
{
    return clock_monotonic_ns() - since_ns < AUTH_FRESH_MS / 2 * CLOCK_NS_PER_MS;
}

/* Returns whether both gateways refused a key at once when it was revoked. */
static bool
is_revoked_at_once(const Process *second)
{
    char key[KEY_SIZE];
    cluster_make_key(&cluster, "owner", NULL, key);
    assert_int_equal(status_at(cluster.gateway.address, key), 200);
    assert_int_equal(status_at(second->address, key), 200);
    revoke_key(key);
    uint64_t revoked_ns = clock_monotonic_ns();
    AWAIT(status_at(cluster.gateway.address, key) == 401);
    AWAIT(status_at(second->address, key) == 401);
    return was_at_once(revoked_ns);
}

static void
a_revoked_key_is_refused_at_once_by_every_gateway(void **state)
{
    (void)state;
    Process second;
    bool is_at_once = false;
    assert_true(cluster_add_gateway(&cluster, &second));
    for (int tried = 0; tried < KEYS_TRIED && !is_at_once; tried++) {
        is_at_once = is_revoked_at_once(&second);
    }
    assert_true(is_at_once);
    assert_int_equal(status_at(cluster.gateway.address, owner), 200);
    assert_int_equal(status_at(second.address, owner), 200);
    (void)process_stop(&second, SIGTERM);
}

static void
a_revoked_key_of_which_no_gateway_was_told_is_refused_soon(void **state)
{
    (void)state;
    char key[KEY_SIZE];
    cluster_make_key(&cluster, "owner", NULL, key);
    assert_int_equal(status_at(cluster.gateway.address, key), 200);
    (void)database_ask(cluster.database, "alter table sluice.api_keys disable trigger key_is_revoked");
    revoke_key(key);
    uint64_t revoked_ns = clock_monotonic_ns();
    AWAIT(status_at(cluster.gateway.address, key) == 401);
    assert_true(clock_monotonic_ns() - revoked_ns < AUTH_STALE_MS * CLOCK_NS_PER_MS); /* it may be slow */
    (void)database_ask(cluster.database, "alter table sluice.api_keys enable trigger key_is_revoked");
}

static void
keys_of_a_disabled_tenant_are_refused_at_once(void **state)
{
    (void)state;
    char key[KEY_SIZE];
    bool is_at_once = false;
    cluster_make_key(&cluster, "leaver", NULL, key);
    for (int tried = 0; tried < KEYS_TRIED && !is_at_once; tried++) {
        (void)database_ask(
            cluster.database, "update sluice.tenants set disabled_at = null where name = 'leaver'");
        AWAIT(status_at(cluster.gateway.address, key) == 200);
        (void)database_ask(
            cluster.database, "update sluice.tenants set disabled_at = now() where name = 'leaver'");
        uint64_t disabled_ns = clock_monotonic_ns();
        AWAIT(status_at(cluster.gateway.address, key) == 401);
        is_at_once = was_at_once(disabled_ns);
    }
    assert_true(is_at_once);
    assert_int_equal(status_at(cluster.gateway.address, owner), 200);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case_is_a_route),
        cmocka_unit_test(every_route_with_another_tenants_id_is_not_found),
        cmocka_unit_test(what_a_stranger_is_told_is_what_nobody_is_told),
        cmocka_unit_test(a_list_holds_nothing_of_another_tenant),
        cmocka_unit_test(every_route_but_the_public_asks_for_a_key),
        cmocka_unit_test(a_known_id_with_another_secret_is_refused),
        cmocka_unit_test(operator_routes_are_not_there_for_tenants),
        cmocka_unit_test(no_key_makes_a_worker),
        cmocka_unit_test(what_all_tenants_share_is_the_same_for_all),
        cmocka_unit_test(a_revoked_key_is_refused_at_once_by_every_gateway),
        cmocka_unit_test(a_revoked_key_of_which_no_gateway_was_told_is_refused_soon),
        cmocka_unit_test(keys_of_a_disabled_tenant_are_refused_at_once),
    };
    return cmocka_run_group_tests_name("tenant", tests, set_up, tear_down);
}
