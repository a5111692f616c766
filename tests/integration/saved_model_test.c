/* SavedModels whose signatures change their variables, over REST. Expected values are TensorFlow's
 * answers, printed by "tests/unit/gateway/expand/data/make_saved_model.py --run". */
#include <signal.h>

#include "tests/support/await.h"
#include "tests/support/cluster.h"
#include "tests/support/files.h"

static const char training[] = "tests/unit/gateway/expand/data/training.tar";
static const char tables[] = "tests/unit/gateway/expand/data/tables.tar";
static const char slices[] = "tests/unit/gateway/expand/data/slices.tar";

#define ADD(by) "{\"feeds\":{\"by@add\":" #by "},\"fetches\":[\"before@add\",\"after@add\"]}"
static const char train_step[] =
    "{\"feeds\":{\"x@train\":[[1,2],[3,4]],\"t@train\":[1,2]},\"fetches\":[\"loss@train\"]}";
static const char predict_step[] = "{\"feeds\":{\"x\":[[1,2],[3,4]]},\"fetches\":[\"y\"]}";
static const char count_step[] = "{\"fetches\":[\"count/Read/ReadVariableOp\"]}";
/* The request of TensorFlow's loader, by the names in the model's SaverDef. */
static const char restore_step[] =
    "{\"feeds\":{\"saver_filename\":\"variables\"},\"targets\":[\"StatefulPartitionedCall_5\"]}";

static const char restore_tables_step[] =
    "{\"feeds\":{\"saver_filename\":\"variables\"},\"targets\":[\"StatefulPartitionedCall_4\"]}";

#define GROW(by) "{\"feeds\":{\"by\":" #by "},\"fetches\":[\"n@grow\"]}"

static void
push_model(Cluster *cluster, const char *path, RestResponse *ret_response)
{
    TensorBuffer *archive = file_read(path);
    assert_non_null(archive);
    cluster_push_graph(
        cluster, "application/x-tar", "", slice_of(archive->data, archive->size), ret_response);
    tensor_buffer_unref(archive);
}

static void
begin(Cluster *cluster, const char *options, const char *path)
{
    AUTO_REST response = {0};
    cluster_session(cluster, options);
    push_model(cluster, path, &response);
    cluster_expect(&response, 201, NULL);
}

static void
variables_begin_with_the_checkpoint_and_keep_what_steps_make_of_them(void **state)
{
    Cluster *cluster = *state;
    begin(cluster, "{}", training);
    cluster_expect_step(cluster, count_step, 200, "\"data\":[40]");
    cluster_expect_step(cluster, ADD(2), 200, "\"data\":[42]");
    cluster_expect_step(cluster, ADD(-5), 200, "\"data\":[37]");
    cluster_expect_step(cluster, train_step, 200, "\"data\":[8.5]");
    cluster_expect_step(cluster, train_step, 200, "\"data\":[57.281494");
    cluster_expect_step(cluster, predict_step, 200, "\"data\":[12.247559,33.452637]");
    cluster_expect_step(cluster, count_step, 200, "\"data\":[39]");
}

/* The step binds nothing of the session to a worker. */
static void
what_is_only_read_is_a_constant_also_when_it_is_read_in_part(void **state)
{
    Cluster *cluster = *state;
    char path[CLUSTER_URL_SIZE];
    AUTO_REST response = {0};
    begin(cluster, "{}", training);
    cluster_expect_step(cluster,
        "{\"feeds\":{\"at@pick\":[2,0]},\"fetches\":[\"rows@pick\",\"cells@pick\",\"shape@pick\"]}", 200,
        "\"data\":[5,6,1,2]");
    (void)snprintf(path, sizeof path, "/api/v1/sessions/%s", cluster->session);
    cluster_send(cluster, "GET", path, NULL, &response);
    cluster_expect(&response, 200, "\"state\":{\"class\":\"checkpoint\",\"places\":[]}");
}

static void
each_session_begins_anew(void **state)
{
    Cluster *cluster = *state;
    begin(cluster, "{}", training);
    cluster_expect_step(cluster, ADD(2), 200, "\"data\":[42]");
    begin(cluster, "{}", training);
    cluster_expect_step(cluster, ADD(1), 200, "\"data\":[41]");
}

static void
a_model_of_which_all_can_be_served_is_taken_without_a_warning(void **state)
{
    AUTO_REST response = {0};
    cluster_session(*state, "{}");
    push_model(*state, training, &response);
    cluster_expect(&response, 201, "\"unsupported_ops\": []");
    cluster_expect(&response, 201, "\"warnings\": []");
}

#define PUT(key, value)                                                                                      \
    "{\"feeds\":{\"key@put\":[" key "],\"value@put\":[" value "]},\"fetches\":[\"size@put\",\"found@put\"]}"
#define FIND(fetch) "{\"feeds\":{\"word\":[\"one\",\"two\",\"six\",\"none\"]},\"fetches\":[\"" fetch "\"]}"

static void
tables_begin_with_their_rows_and_keep_what_steps_put_into_them(void **state)
{
    Cluster *cluster = *state;
    begin(cluster, "{}", tables);
    cluster_expect_step(cluster, FIND("number"), 200, "\"data\":[1,2,-1,-1]");
    cluster_expect_step(cluster, FIND("point"), 200, "\"data\":[1,1.5,2,2.5,0,-1,0,-1]");
    cluster_expect_step(cluster, FIND("square"), 200, "\"data\":[-1,4,-1,-1]");
    cluster_expect_step(cluster, PUT("\"six\",\"two\"", "6,3"), 200, "\"data\":[36,9]");
    cluster_expect_step(cluster, FIND("number"), 200, "\"data\":[1,3,6,-1]");
    cluster_expect_step(cluster, FIND("square"), 200, "\"data\":[-1,9,36,-1]");
    cluster_expect_step(cluster, FIND("squares"), 200, "\"data\":[3]");
    cluster_expect_step(cluster, "{\"fetches\":[\"values@rows\"]}", 200, "\"data\":[\"I\",\"II\"]");
    cluster_expect_step(cluster, restore_tables_step, 200, NULL);
    cluster_expect_step(cluster, FIND("number"), 200, "\"data\":[1,2,-1,-1]");
    cluster_expect_step(cluster, FIND("squares"), 200, "\"data\":[2]");
    begin(cluster, "{}", tables);
    cluster_expect_step(cluster, PUT("\"nil\"", "-2"), 400, "is the empty or the deleted key of table");
}

static bool
is_told_lost_rows(Cluster *cluster)
{
    AUTO_REST response;
    cluster_step(cluster, FIND("number"), &response);
    assert_int_not_equal(response.status, 200);
    bool is_told = strstr(rest_text(&response), "is not initialised") != NULL;
    if (is_told) {
        cluster_expect(&response, 400, "the session's variables were lost with worker");
    }
    return is_told;
}

/* A table that no step can have changed begins with its rows again. */
static void
rows_that_are_lost_with_their_worker_do_not_begin_anew_unasked(void **state)
{
    Cluster *cluster = *state;
    begin(cluster, "{}", tables);
    cluster_expect_step(cluster, PUT("\"six\",\"two\"", "6,3"), 200, "\"data\":[36,9]");
    for (int index = 0; index < 2; index++) {
        (void)process_stop(&cluster->workers[index], SIGKILL);
        assert_true(cluster_restart_worker(cluster, index));
    }
    AWAIT(is_told_lost_rows(cluster));
    cluster_expect_step(cluster, "{\"fetches\":[\"values@rows\"]}", 200, "\"data\":[\"I\",\"II\"]");
    cluster_expect_step(cluster, restore_tables_step, 200, NULL);
    cluster_expect_step(cluster, FIND("number"), 200, "\"data\":[1,2,-1,-1]");
}

static void
the_models_own_restore_sets_them_back(void **state)
{
    Cluster *cluster = *state;
    begin(cluster, "{}", training);
    cluster_expect_step(cluster, ADD(2), 200, "\"data\":[42]");
    cluster_expect_step(cluster, train_step, 200, "\"data\":[8.5]");
    cluster_expect_step(cluster, restore_step, 200, NULL);
    cluster_expect_step(cluster, count_step, 200, "\"data\":[40]");
    cluster_expect_step(cluster, train_step, 200, "\"data\":[8.5]");
}

static void
reference_variables_in_parts_and_files_are_restored(void **state)
{
    Cluster *cluster = *state;
    static const char read_step[] = "{\"feeds\":{\"x\":[[1,0,0,10]]},\"fetches\":[\"y\"]}";
    begin(cluster, "{\"slots\":2,\"placement\":\"spread\"}", slices);
    cluster_expect_step(cluster, GROW(1), 200, "\"data\":[6]");
    cluster_expect_step(cluster, read_step, 200, "\"data\":[71,82]");
    cluster_expect_step(cluster, GROW(2), 200, "\"data\":[8]");
    cluster_expect_step(cluster, read_step, 200, "\"data\":[93,104]");
    cluster_expect_step(cluster, "{\"targets\":[\"save/restore_all\"]}", 200, NULL);
    cluster_expect_step(cluster, GROW(1), 200, "\"data\":[6]");
}

/* Returns true once the gateway has noticed that the worker is another one; until then steps are refused. */
static bool
is_told_lost(Cluster *cluster)
{
    AUTO_REST response;
    cluster_step(cluster, count_step, &response);
    assert_int_not_equal(response.status, 200);
    bool is_told = strstr(rest_text(&response), "variable 'count' is not initialised") != NULL;
    if (is_told) {
        cluster_expect(&response, 400, "the session's variables were lost with worker");
    }
    return is_told;
}

static void
what_is_lost_with_its_worker_does_not_begin_anew_unasked(void **state)
{
    Cluster *cluster = *state;
    begin(cluster, "{}", training);
    cluster_expect_step(cluster, ADD(2), 200, "\"data\":[42]");
    for (int index = 0; index < 2; index++) {
        (void)process_stop(&cluster->workers[index], SIGKILL);
        assert_true(cluster_restart_worker(cluster, index));
    }
    AWAIT(is_told_lost(cluster));
    cluster_expect_step(cluster, restore_step, 200, NULL);
    cluster_expect_step(cluster, ADD(3), 200, "\"data\":[43]");
}

static void
who_would_write_a_checkpoint_hears_what_to_do(void **state)
{
    Cluster *cluster = *state;
    begin(cluster, "{}", slices);
    cluster_expect_step(cluster, "{\"fetches\":[\"save/Identity\"]}", 501,
        "workers have no files: fetch the variables instead");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CLUSTER_TEST(variables_begin_with_the_checkpoint_and_keep_what_steps_make_of_them),
        CLUSTER_TEST(what_is_only_read_is_a_constant_also_when_it_is_read_in_part),
        CLUSTER_TEST(each_session_begins_anew),
        CLUSTER_TEST(a_model_of_which_all_can_be_served_is_taken_without_a_warning),
        CLUSTER_TEST(tables_begin_with_their_rows_and_keep_what_steps_put_into_them),
        CLUSTER_TEST(rows_that_are_lost_with_their_worker_do_not_begin_anew_unasked),
        CLUSTER_TEST(the_models_own_restore_sets_them_back),
        CLUSTER_TEST(reference_variables_in_parts_and_files_are_restored),
        CLUSTER_TEST(what_is_lost_with_its_worker_does_not_begin_anew_unasked),
        CLUSTER_TEST(who_would_write_a_checkpoint_hears_what_to_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
