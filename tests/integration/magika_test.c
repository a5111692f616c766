/* The example of `make run`: the published file classifier magika, cut across two workers, gives ten files
 * the labels that its own package gives them (data/magika/README.md). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/cluster.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/files.h"

enum {
    SAMPLE_COUNT = 10,
    LABEL_SIZE = 64,
    NUMBER_SIZE = 16,
    END_SIZE = 1024,
    BLOCK_SIZE = 4096,
    PADDING = 256
};

static const char samples[] = "tests/integration/data/magika";
static const double score_tolerance = 1e-4; /* float32 sums are taken in another order */

typedef struct Model {
    char graph[FILE_PATH_SIZE];
    char labels[FILE_PATH_SIZE];
} Model;

/* Finds the model in the golden data, else where `make run` has downloaded it; returns false when there is
 * none. */
static bool
find_model(Model *ret_model)
{
    if (corpus_path("models/magika_standard_v3_3.onnx", ret_model->graph) != NULL &&
        corpus_path("models/magika_standard_v3_3.config.json", ret_model->labels) != NULL) {
        return true;
    }
    (void)snprintf(ret_model->graph, FILE_PATH_SIZE, "var/models/magika.onnx");
    (void)snprintf(ret_model->labels, FILE_PATH_SIZE, "var/models/magika.config.json");
    return access(ret_model->graph, R_OK) == 0 && access(ret_model->labels, R_OK) == 0;
}

/* Reads a whole file, with a NUL behind its bytes. */
static void
read_whole(const char *path, Buffer *ret_bytes)
{
    TensorBuffer *file = file_read(path);
    if (file == NULL) {
        fail_msg("'%s' cannot be read", path);
    } else {
        buffer_append(ret_bytes, file->data, file->size);
        buffer_append(ret_bytes, "", 1);
        ret_bytes->size--;
    }
    tensor_buffer_unref(file);
}

static bool
is_space(char byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

static void
append_numbers(Buffer *body, Slice bytes, size_t padding_before, size_t padding_behind)
{
    for (size_t index = 0; index < padding_before; index++) {
        buffer_append_format(body, "%d,", PADDING);
    }
    for (size_t index = 0; index < bytes.size; index++) {
        buffer_append_format(body, "%d,", (uint8_t)bytes.data[index]);
    }
    for (size_t index = 0; index < padding_behind; index++) {
        buffer_append_format(body, "%d,", PADDING);
    }
}

/* Appends the model's input: the first 1,024 bytes after leading white space and the last 1,024 before
 * trailing white space, taken from the first and last 4,096 bytes (magika.py,
 * _extract_features_from_seekable). */
static void
append_features(Buffer *body, Slice file)
{
    size_t block = file.size < BLOCK_SIZE ? file.size : BLOCK_SIZE;
    Slice front = slice_part(file, 0, block);
    Slice back = slice_part(file, file.size - block, block);
    while (front.size > 0 && is_space(front.data[0])) {
        front = slice_part(front, 1, front.size - 1);
    }
    while (back.size > 0 && is_space(back.data[back.size - 1])) {
        back.size--;
    }
    front.size = front.size < END_SIZE ? front.size : END_SIZE;
    size_t kept = back.size < END_SIZE ? back.size : END_SIZE;
    back = slice_part(back, back.size - kept, kept);
    append_numbers(body, front, 0, END_SIZE - front.size);
    append_numbers(body, back, END_SIZE - kept, 0);
}

static void
step_body(Buffer *body, const char *file)
{
    char path[FILE_PATH_SIZE];
    (void)snprintf(path, sizeof path, "%s/%s", samples, file);
    AUTO_BUFFER bytes = {0};
    read_whole(path, &bytes);
    buffer_append_string(body, "{\"feeds\":{\"bytes\":{\"dtype\":\"int32\",\"shape\":[1,2048],\"data\":[");
    append_features(body, buffer_slice(&bytes));
    body->size--; /* drops the last comma */
    buffer_append_string(body, "]}},\"fetches\":[\"target_label\"]}");
    buffer_append(body, "", 1);
}

/* Returns the index of the greatest number in the response's "data":[…]. */
static size_t
best_class(const char *response, double *ret_score)
{
    const char *next = strstr(response, "\"data\":[");
    size_t best = 0;
    assert_non_null(next);
    next += strlen("\"data\":");
    *ret_score = -1;
    for (size_t index = 0; *next != ']'; index++) {
        char *end = NULL;
        double score = strtod(next + 1, &end);
        assert_true(end > next + 1);
        if (score > *ret_score) {
            *ret_score = score;
            best = index;
        }
        next = end;
    }
    return best;
}

/* Finds the name of a class by its index in the configuration's "target_labels_space":["3gp","ace",…]. */
static void
class_label(const char *configuration, size_t number, char ret_label[LABEL_SIZE])
{
    const char *label = strstr(configuration, "\"target_labels_space\":[");
    assert_non_null(label);
    label = strchr(label, '[') + 2;
    for (size_t index = 0; index < number; index++) {
        label = strstr(label, "\",\"");
        assert_non_null(label);
        label += 3;
    }
    (void)snprintf(ret_label, LABEL_SIZE, "%.*s", (int)strcspn(label, "\""), label);
}

static void
push_model(Cluster *cluster, const Model *model)
{
    AUTO_REST response = {0};
    AUTO_BUFFER source = {0};
    read_whole(model->graph, &source);
    cluster_session(cluster, "{\"slots\":2,\"placement\":\"spread\"}");
    cluster_push_graph(cluster, "application/onnx", "", buffer_slice(&source), &response);
    cluster_expect(&response, 201, NULL);
    assert_true(rest_member(&response, "id", cluster->graph, sizeof cluster->graph));
}

static int
crossing_edges(Cluster *cluster, const char *body)
{
    char path[CLUSTER_URL_SIZE];
    AUTO_REST response = {0};
    int count = 0;
    (void)snprintf(path, sizeof path, "/api/v1/sessions/%s/graphs/%s:plan", cluster->session, cluster->graph);
    cluster_send(cluster, "POST", path, body, &response);
    cluster_expect(&response, 200, NULL);
    for (const char *edge = rest_text(&response); (edge = strstr(edge, "\"from\":")) != NULL; edge++) {
        count++;
    }
    return count;
}

static void
check_file(Cluster *cluster, const char *configuration, const char *file, const char *label, double score)
{
    AUTO_BUFFER body = {0};
    AUTO_REST response = {0};
    char found[LABEL_SIZE];
    double found_score = 0;
    step_body(&body, file);
    cluster_step(cluster, (const char *)body.data, &response);
    if (response.status != 200) {
        fail_msg("%s: %d %s", file, response.status, rest_text(&response));
    }
    assert_true(crossing_edges(cluster, (const char *)body.data) >= 3);
    class_label(configuration, best_class(rest_text(&response), &found_score), found);
    if (strcmp(found, label) != 0 || found_score < score - score_tolerance ||
        found_score > score + score_tolerance) {
        fail_msg("%s: '%s' (%f), expected '%s' (%f)", file, found, found_score, label, score);
    }
}

/* Checks every row of labels.csv. */
static void
check_files(Cluster *cluster, const char *configuration)
{
    char path[FILE_PATH_SIZE];
    char file[LABEL_SIZE];
    char label[LABEL_SIZE];
    char score[NUMBER_SIZE];
    int count = 0;
    (void)snprintf(path, sizeof path, "%s/labels.csv", samples);
    FILE *labels = fopen(path, "re");
    assert_non_null(labels);
    assert_int_equal(fscanf(labels, "file,label,score\n"), 0);
    while (fscanf(labels, "%63[^,],%63[^,],%15s\n", file, label, score) == 3) {
        check_file(cluster, configuration, file, label, strtod(score, NULL));
        count++;
    }
    (void)fclose(labels);
    assert_int_equal(count, SAMPLE_COUNT);
}

static void
magika_labels_ten_files_as_its_own_package_does_across_two_workers(void **state)
{
    Cluster *cluster = *state;
    AUTO_BUFFER configuration = {0};
    Model model;
    if (!find_model(&model)) {
        print_message(
            "skipped: the model is neither in $CORPUS nor in var/models ('make run' downloads it)\n");
        return;
    }
    push_model(cluster, &model);
    read_whole(model.labels, &configuration);
    check_files(cluster, (const char *)configuration.data);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CLUSTER_TEST(magika_labels_ten_files_as_its_own_package_does_across_two_workers),
    };
    return cmocka_run_group_tests_name("magika", tests, NULL, NULL);
}
