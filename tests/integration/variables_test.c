/* The variables of a session: they last from step to step, are lost with their worker, and the loss is
 * told. */
#include <signal.h>

#include "tests/support/await.h"
#include "tests/support/cluster.h"
#include "tests/support/graph_json.h"

enum { HANDLE_SIZE = 96 };

/* w ← w − rate · mean((w·x − t)·x) learns the slope of t over x. */
static const char model[] = "{\"node\":[" NODE(
    "w", "VariableV2", "", "\"dtype\":{\"type\":\"DT_FLOAT\"},\"shape\":{\"shape\":{}}") "," SCALAR("zero",
    "0") "," SCALAR("rate", "0.1") "," NODE("init", "Assign", "\"w\",\"zero\"", T_FLOAT) "," NODE("x",
    "Placeholder", "", "\"dtype\":{\"type\":\"DT_FLOAT\"}") "," NODE("t", "Placeholder", "",
    "\"dtype\":{\"type\":\"DT_FLOAT\"}") "," NODE("read", "Identity", "\"w\"", T_FLOAT) "," NODE("y", "Mul",
    "\"x\",\"read\"",
    T_FLOAT) "," NODE("error", "Sub", "\"y\",\"t\"", T_FLOAT) "," NODE("slopes", "Mul", "\"error\",\"x\"",
    T_FLOAT) ","
             "{\"name\":\"axes\",\"op\":\"Const\",\"attr\":{\"dtype\":{\"type\":\"DT_INT32\"},\"value\":{"
             "\"tensor\":"
             "{\"dtype\":\"DT_INT32\",\"tensorShape\":{\"dim\":[{\"size\":\"1\"}]},\"intVal\":[0]}}}}," NODE(
                 "slope", "Mean", "\"slopes\",\"axes\"",
                 T_FLOAT ",\"Tidx\":{\"type\":\"DT_INT32\"}") "," NODE("change", "Mul", "\"slope\",\"rate\"",
                 T_FLOAT) "," NODE("train", "AssignSub", "\"w\",\"change\"", T_FLOAT) "]}";

static const char init_step[] = "{\"targets\":[\"init\"]}";
static const char read_step[] = "{\"fetches\":[\"read\"]}";
static const char train_step[] = "{\"feeds\":{\"x\":[1,2,3],\"t\":[3,6,9]},\"fetches\":[\"train\"]}";

/* Returns true once the gateway tells the loss; until it has noticed, steps are refused with 503. */
static bool
is_told_lost(Cluster *cluster)
{
    AUTO_REST response;
    cluster_step(cluster, read_step, &response);
    if (response.status != 503) {
        cluster_expect(&response, 400, "lost with");
    }
    return strstr(rest_text(&response), "the session's variables were lost with worker") != NULL;
}

static void
expect_lost(Cluster *cluster)
{
    AWAIT(is_told_lost(cluster));
}

static void
get_session(Cluster *cluster, RestResponse *ret_response)
{
    char path[128];
    (void)snprintf(path, sizeof path, "/api/v1/sessions/%s", cluster->session);
    cluster_send(cluster, "GET", path, NULL, ret_response);
}

/* Returns which worker keeps the session's variables. */
static int
keeper(Cluster *cluster)
{
    AUTO_REST response;
    get_session(cluster, &response);
    for (int index = 0; index < 2; index++) {
        char name[32];
        (void)snprintf(name, sizeof name, "\"worker\":\"w%d\"", index);
        if (strstr(rest_text(&response), name) != NULL) {
            return index;
        }
    }
    fail_msg("nobody keeps anything: %s", rest_text(&response));
    return -1;
}

/* Makes a session with the model, and sets its variable to 0. */
static void
begin_model(Cluster *cluster, const char *options)
{
    cluster_session(cluster, options);
    cluster_graph(cluster, model);
    cluster_expect_step(cluster, init_step, 200, NULL);
}

/* Trains until w is 3. */
static void
train(Cluster *cluster)
{
    for (int step = 0; step < 40; step++) {
        cluster_expect_step(cluster, train_step, 200, "train");
    }
}

static void
a_model_is_trained_over_many_steps(void **state)
{
    Cluster *cluster = *state;
    cluster_session(cluster, "{}");
    cluster_graph(cluster, model);
    {
        AUTO_REST response;
        get_session(cluster, &response);
        assert_non_null(strstr(rest_text(&response), "\"state\":{\"class\":\"checkpoint\",\"places\":[]}"));
    }
    cluster_expect_step(cluster, read_step, 400, "variable 'w' is not initialised");
    cluster_expect_step(cluster, init_step, 200, NULL);
    cluster_expect_step(cluster, read_step, 200, "\"data\":[0]");
    train(cluster);
    cluster_expect_step(cluster, read_step, 200, "\"data\":[3]");
    (void)keeper(cluster);
}

static void
variables_stay_on_one_worker_whatever_else_is_spread(void **state)
{
    Cluster *cluster = *state;
    begin_model(cluster, "{\"slots\":2,\"placement\":\"spread\"}");
    train(cluster);
    cluster_expect_step(cluster, read_step, 200, "\"data\":[3]");
}

static void
what_is_lost_with_its_worker_is_said_and_can_be_made_again(void **state)
{
    Cluster *cluster = *state;
    begin_model(cluster, "{}");
    cluster_expect_step(cluster, train_step, 200, NULL);
    int index = keeper(cluster);
    (void)process_stop(&cluster->workers[index], SIGKILL);
    cluster_expect_step(cluster, read_step, 503, "keeps variables of this session");
    expect_lost(cluster);
    assert_int_not_equal(keeper(cluster), index);
    cluster_expect_step(cluster, init_step, 200, NULL);
    cluster_expect_step(cluster, read_step, 200, "\"data\":[0]");
}

static void
a_restarted_worker_has_lost_what_it_kept(void **state)
{
    Cluster *cluster = *state;
    begin_model(cluster, "{}");
    int index = keeper(cluster);
    (void)process_stop(&cluster->workers[index], SIGKILL);
    assert_true(cluster_restart_worker(cluster, index));
    expect_lost(cluster);
    cluster_expect_step(cluster, init_step, 200, NULL);
    cluster_expect_step(cluster, train_step, 200, NULL);
}

static void
a_gateway_that_restarts_finds_the_variables_again(void **state)
{
    Cluster *cluster = *state;
    begin_model(cluster, "{}");
    train(cluster);
    (void)process_stop(&cluster->gateway, SIGTERM);
    assert_true(cluster_restart_gateway(cluster));
    cluster_expect_step(cluster, read_step, 200, "\"data\":[3]");
}

static void
a_deleted_session_gives_its_memory_back(void **state)
{
    Cluster *cluster = *state;
    begin_model(cluster, "{}");
    cluster_expect_step(cluster, train_step, 200, NULL);
    int index = keeper(cluster);
    assert_true(cluster_worker_use(cluster, index).memory_in_use > 0);
    char path[128];
    AUTO_REST response;
    (void)snprintf(path, sizeof path, "/api/v1/sessions/%s", cluster->session);
    cluster_send(cluster, "DELETE", path, NULL, &response);
    cluster_expect(&response, 204, NULL);
    AWAIT(cluster_worker_use(cluster, index).memory_in_use == 0);
}

/* y = 2·x is kept under a handle; z is the tensor behind a handle. */
static const char handles[] =
    "{\"node\":[" NODE("x", "Placeholder", "", "\"dtype\":{\"type\":\"DT_FLOAT\"}") "," NODE("y", "Add",
        "\"x\",\"x\"", T_FLOAT) "," NODE("keep", "GetSessionHandle", "\"y\"", T_FLOAT) "," NODE("h",
        "Placeholder", "", "\"dtype\":{\"type\":\"DT_STRING\"}") "," NODE("z", "GetSessionTensor", "\"h\"",
        "\"dtype\":{\"type\":\"DT_FLOAT\"}") "," NODE("drop", "DeleteSessionTensor", "\"h\"", "") "]}";

/* Feeds x with [1,2] and returns the handle of y. */
static void
keep_tensor(Cluster *cluster, char ret_handle[HANDLE_SIZE])
{
    AUTO_REST kept;
    cluster_step(cluster, "{\"feeds\":{\"x\":[1,2]},\"fetches\":[\"keep\"]}", &kept);
    cluster_expect(&kept, 200, "keep;");
    const char *handle = strstr(rest_text(&kept), "keep;");
    (void)snprintf(ret_handle, HANDLE_SIZE, "%.*s", (int)strcspn(handle, "\""), handle);
}

static void
a_tensor_stays_in_the_session_under_its_handle(void **state)
{
    Cluster *cluster = *state;
    cluster_session(cluster, "{\"slots\":2,\"placement\":\"spread\"}");
    cluster_graph(cluster, handles);
    char handle[HANDLE_SIZE];
    char body[256];
    keep_tensor(cluster, handle);
    (void)snprintf(body, sizeof body, "{\"feeds\":{\"h\":\"%s\"},\"fetches\":[\"z\"]}", handle);
    cluster_expect_step(cluster, body, 200, "\"data\":[2,4]");
    (void)snprintf(body, sizeof body, "{\"feeds\":{\"h\":\"%s\"},\"targets\":[\"drop\"]}", handle);
    cluster_expect_step(cluster, body, 200, NULL);
    cluster_expect_step(cluster, body, 404, "the session keeps no tensor under 'keep;");
    cluster_expect_step(cluster, "{\"feeds\":{\"h\":\"w\"},\"fetches\":[\"z\"]}", 404,
        "the session keeps no tensor under 'w'");
}

#define ON(name, op, input, attr, device)                                                                    \
    "{\"name\":\"" name "\",\"op\":\"" op "\",\"input\":[" input "],\"attr\":{" attr                         \
    "},\"device\":\"" device "\"}"
#define TASK "/job:worker/task:1"
static const char placed[] = "{\"node\":[" NODE("x", "Placeholder", "",
    "\"dtype\":{\"type\":\"DT_FLOAT\"}") "," ON("keep", "GetSessionHandle", "\"x\"", T_FLOAT, TASK) "]}";
static const char readers[] = "{\"node\":[" NODE(
    "h", "Placeholder", "", "\"dtype\":{\"type\":\"DT_STRING\"}") "," ON("there", "GetSessionTensor", "\"h\"",
    "\"dtype\":{\"type\":\"DT_FLOAT\"}", TASK) "," NODE("here", "GetSessionTensor", "\"h\"",
    "\"dtype\":{\"type\":\"DT_FLOAT\"}") "," ON("drop", "DeleteSessionTensor", "\"h\"", "", TASK) "]}";

/* The tensor is kept on one of two workers and read by nodes that were added later. */
static void
a_handle_says_where_its_tensor_is_and_serves_nodes_added_later(void **state)
{
    Cluster *cluster = *state;
    static const char *const headers[] = {"If-Match: *", NULL};
    char body[256];
    char handle[HANDLE_SIZE];
    AUTO_REST extended = {0};
    cluster_session(cluster, "{\"slots\":2}");
    cluster_graph(cluster, placed);
    keep_tensor(cluster, handle);
    assert_string_equal(handle + 5 + 16, ";/job:worker/replica:0/task:1");
    cluster_extend(cluster, headers, readers, &extended);
    cluster_expect(&extended, 201, NULL);
    (void)snprintf(body, sizeof body, "{\"feeds\":{\"h\":\"%s\"},\"fetches\":[\"there\"]}", handle);
    cluster_expect_step(cluster, body, 200, "\"data\":[1,2]");
    (void)snprintf(body, sizeof body, "{\"feeds\":{\"h\":\"%s\"},\"fetches\":[\"here\"]}", handle);
    cluster_expect_step(cluster, body, 404, "the session keeps no tensor under 'keep;");
    (void)snprintf(body, sizeof body, "{\"feeds\":{\"h\":\"%s\"},\"targets\":[\"drop\"]}", handle);
    cluster_expect_step(cluster, body, 200, NULL);
    cluster_expect_step(cluster, body, 404, "the session keeps no tensor under 'keep;");
}

#define SHAPED                                                                                               \
    "{\"name\":\"s\",\"op\":\"Const\",\"attr\":{\"dtype\":{\"type\":\"DT_INT32\"},\"value\":{\"tensor\":{"   \
    "\"dtype\":\"DT_INT32\",\"tensorShape\":{\"dim\":[{\"size\":\"1\"}]},\"intVal\":[2]}}}}"
/* The numbers that TensorFlow draws with these seeds. */
static const char random_graph[] = "{\"node\":[" SHAPED "," NODE("r", "RandomUniform", "\"s\"",
    "\"dtype\":{\"type\":\"DT_FLOAT\"},\"T\":{\"type\":\"DT_INT32\"},\"seed\":{\"i\":\"87654321\"},"
    "\"seed2\":{\"i\":\"3\"}") "," NODE("q", "Identity", "\"r\"", T_FLOAT) "]}";
static const char *const drawn[] = {
    "[0.3869294,0.36002624]", "[0.19575107,0.07571161]", "[0.9180825,0.94347167]"};

/* Sessions go to whichever worker has less to do. */
static void
a_seeded_sequence_goes_on_from_step_to_step_and_is_each_sessions_own(void **state)
{
    Cluster *cluster = *state;
    static const char *const steps[] = {
        "{\"fetches\":[\"r\"]}", "{\"fetches\":[\"q\"]}", "{\"fetches\":[\"q\",\"r\"]}"};
    for (int session = 0; session < 3; session++) {
        cluster_session(cluster, session == 2 ? "{\"slots\":2,\"placement\":\"spread\"}" : "{}");
        cluster_graph(cluster, random_graph);
        for (size_t step = 0; step < COUNT_OF(steps); step++) {
            cluster_expect_step(cluster, steps[step], 200, drawn[step]);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CLUSTER_TEST(a_model_is_trained_over_many_steps),
        CLUSTER_TEST(variables_stay_on_one_worker_whatever_else_is_spread),
        CLUSTER_TEST(what_is_lost_with_its_worker_is_said_and_can_be_made_again),
        CLUSTER_TEST(a_restarted_worker_has_lost_what_it_kept),
        CLUSTER_TEST(a_gateway_that_restarts_finds_the_variables_again),
        CLUSTER_TEST(a_tensor_stays_in_the_session_under_its_handle),
        CLUSTER_TEST(a_handle_says_where_its_tensor_is_and_serves_nodes_added_later),
        CLUSTER_TEST(a_seeded_sequence_goes_on_from_step_to_step_and_is_each_sessions_own),
        CLUSTER_TEST(a_deleted_session_gives_its_memory_back),
    };
    return cmocka_run_group_tests_name("variables", tests, NULL, NULL);
}
