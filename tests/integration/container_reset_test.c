/* TensorFlow's Reset: the variables that sessions keep in the named containers are dropped, on all
 * workers. */
#include <signal.h>

#include "tests/support/cluster.h"
#include "tests/support/cmocka_all.h"

#define T_FLOAT "\"T\":{\"type\":\"DT_FLOAT\"}"
#define NODE(name, op, input, device, attr)                                                                  \
    "{\"name\":\"" name "\",\"op\":\"" op "\",\"input\":[" input "],\"device\":\"" device                    \
    "\",\"attr\":{" attr "}}"

/* A variable, the node that sets it to 5, and the node that reads it. */
#define VARIABLE(name, container, device)                                                                    \
    NODE(name, "VariableV2", "", device,                                                                     \
        "\"dtype\":{\"type\":\"DT_FLOAT\"},\"shape\":{\"shape\":{}},\"container\":{\"s\":\"" container       \
        "\"}")                                                                                               \
    "," NODE("set_" name, "Assign", "\"" name "\",\"five\"", device, T_FLOAT) "," NODE(                      \
        "get_" name, "Identity", "\"" name "\"", device, T_FLOAT)

/* Names of containers are base64 in a GraphDef: k is in "kept", l in "localhost", which is also the
 * default and so that of v. */
static const char graph[] = "{\"node\":[" NODE("five", "Const", "", "",
    "\"dtype\":{\"type\":\"DT_FLOAT\"},\"value\":{\"tensor\":{\"dtype\":\"DT_FLOAT\",\"tensorShape\":{},"
    "\"floatVal\":[5]}}") "," VARIABLE("v", "", "") "," VARIABLE("k", "a2VwdA==", "") "," VARIABLE("l",
    "bG9jYWxob3N0", "") "]}";

static const char apart[] = "{\"node\":[" NODE("five", "Const", "", "",
    "\"dtype\":{\"type\":\"DT_FLOAT\"},\"value\":{\"tensor\":{\"dtype\":\"DT_FLOAT\",\"tensorShape\":{},"
    "\"floatVal\":[5]}}") "," VARIABLE("v", "", "/job:worker/task:0") "," VARIABLE("u", "",
    "/job:worker/task:1") "]}";

static void
reset(Cluster *cluster, const char *body, int status, const char *part)
{
    AUTO_REST response;
    cluster_send(cluster, "POST", "/api/v1/containers:reset", body, &response);
    if (response.status != status || strstr(rest_text(&response), part) == NULL) {
        fail_msg("%s: %d %s", body, response.status, rest_text(&response));
    }
}

static void
session_with_variables(Cluster *cluster)
{
    cluster_session(cluster, "{}");
    cluster_graph(cluster, graph);
    cluster_expect_step(cluster, "{\"targets\":[\"set_v\",\"set_k\",\"set_l\"]}", 200, "succeeded");
}

static void
what_lies_in_other_containers_stays(void **state)
{
    Cluster *cluster = *state;
    reset(cluster, "{}", 200, "{\"workers\":[],\"resources\":0,\"failed\":0}");
    session_with_variables(cluster);
    reset(cluster, "{\"containers\":[\"nobody's\"]}", 200, "\"resources\":0,\"failed\":0");
    reset(cluster, "{}", 200, "\"resources\":2,\"failed\":0");
    cluster_expect_step(cluster, "{\"fetches\":[\"get_v\"]}", 400, "variable 'v' is not initialised");
    cluster_expect_step(cluster, "{\"fetches\":[\"get_l\"]}", 400, "variable 'l' is not initialised");
    cluster_expect_step(cluster, "{\"fetches\":[\"get_k\"]}", 200, "\"data\":[5]");
    cluster_expect_step(cluster, "{\"targets\":[\"set_v\"]}", 200, "succeeded");
    reset(cluster, "{\"containers\":[\"kept\"]}", 200, "\"resources\":1,\"failed\":0");
    cluster_expect_step(cluster, "{\"fetches\":[\"get_k\"]}", 400, "is not initialised");
    cluster_expect_step(cluster, "{\"fetches\":[\"get_v\"]}", 200, "\"data\":[5]");
}

static void
one_session_can_be_meant_alone(void **state)
{
    Cluster *cluster = *state;
    char body[128];
    char first[sizeof cluster->session];
    session_with_variables(cluster);
    (void)snprintf(first, sizeof first, "%s", cluster->session);
    (void)snprintf(body, sizeof body, "{\"session\":\"%s\",\"containers\":[\"localhost\",\"kept\"]}", first);
    session_with_variables(cluster);
    reset(cluster, body, 200, "\"resources\":3,\"failed\":0");
    cluster_expect_step(cluster, "{\"fetches\":[\"get_v\"]}", 200, "\"data\":[5]");
    (void)snprintf(cluster->session, sizeof cluster->session, "%s", first);
    cluster_expect_step(cluster, "{\"fetches\":[\"get_v\"]}", 400, "is not initialised");
    /* The failed read has created the first session's v anew, without a value: it counts as a resource. */
    reset(cluster, "{\"containers\":[\"localhost\",\"kept\"]}", 200, "\"resources\":4,\"failed\":0");
}

/* Returns the step that reads the variable which worker w0 keeps: v is kept by task 0, u by task 1, and which
 * worker has which task is decided when they register. */
static const char *
read_of_first_worker(Cluster *cluster)
{
    char path[128];
    AUTO_REST session = {0};
    (void)snprintf(path, sizeof path, "/api/v1/sessions/%s", cluster->session);
    cluster_send(cluster, "GET", path, NULL, &session);
    cluster_expect(&session, 200, "\"worker\":\"w0\"");
    return strstr(rest_text(&session), "\"task\":0,\"worker\":\"w0\"") != NULL ? "{\"fetches\":[\"get_v\"]}"
                                                                               : "{\"fetches\":[\"get_u\"]}";
}

/* TensorFlow's master goes down with one worker that cannot be reset (docs/tensorflow_defects.md). */
static void
a_worker_that_fails_is_told_of_and_the_others_are_reset(void **state)
{
    Cluster *cluster = *state;
    cluster_session(cluster, "{}");
    cluster_graph(cluster, apart);
    cluster_expect_step(cluster, "{\"targets\":[\"set_v\",\"set_u\"]}", 200, "succeeded");
    const char *read = read_of_first_worker(cluster);
    cluster_expect_step(cluster, read, 200, "\"data\":[5]");
    (void)process_stop(&cluster->workers[1], SIGKILL);
    reset(cluster, "{}", 200, "\"resources\":1,\"failed\":1");
    cluster_expect_step(cluster, read, 400, "is not initialised");
}

static void
what_makes_no_sense_is_refused(void **state)
{
    static const struct {
        const char *body;
        int status;
        const char *part;
    } cases[] = {
        {"{\"containers\":{}}", 400, "'containers' is no list of at most 256 names"},
        {"{\"containers\":[1]}", 400, "'containers' is no list"},
        {"{\"containers\":[[[\"a\"]]]}", 400, "'containers' is no list"},
        {"{\"containers\":\"a\"}", 400, "'containers' is no list"},
        {"{\"everything\":true}", 400, "everything"},
        {"[]", 400, "INVALID_ARGUMENT"},
        {"{\"session\":\"mine\"}", 404, "session 'mine' does not exist"},
        {"{\"session\":\"ses_01a1fe02d3577617b82d5dfb623f35b3\"}", 404, "does not exist"},
        {"{\"session\":\"ses_00000000000000000000000000000000\"}", 404, "does not exist"},
    };
    Cluster *cluster = *state;
    char many[257 * 4 + 32] = "{\"containers\":[\"a\"";
    for (size_t index = 0; index < sizeof cases / sizeof cases[0]; index++) {
        reset(cluster, cases[index].body, cases[index].status, cases[index].part);
    }
    for (int index = 1; index < 257; index++) {
        (void)strcat(many, ",\"a\"");
    }
    (void)strcat(many, "]}");
    reset(cluster, many, 400, "at most 256 names");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CLUSTER_TEST(what_lies_in_other_containers_stays),
        CLUSTER_TEST(one_session_can_be_meant_alone),
        CLUSTER_TEST(a_worker_that_fails_is_told_of_and_the_others_are_reset),
        CLUSTER_TEST(what_makes_no_sense_is_refused),
    };
    return cmocka_run_group_tests_name("container reset", tests, NULL, NULL);
}
