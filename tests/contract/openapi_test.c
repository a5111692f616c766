/* The gateway serves what openapi.yaml describes: the routes are compared both ways, and every example
 * marked x-try is sent to a running gateway. */
#include <stdlib.h>

#include "gateway/handlers/documents.h"
#include "gateway/http/handler.h"
#include "tests/support/cluster.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/files.h"
#include "tests/support/json_schema.h"
#include "tests/support/step_graphs.h"

enum { HEADERS_MAX = 4, FAULT_SIZE = 256 };

static cJSON *document;

static const cJSON *
member(const cJSON *object, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(object, name);
}

static const char *
text(const cJSON *object, const char *name)
{
    const cJSON *found = member(object, name);
    return cJSON_IsString(found) ? found->valuestring : "";
}

typedef struct Operation {
    const char *path;
    char method[8];
    const cJSON *item; /* of the path */
    const cJSON *object;
} Operation;

static bool
is_method(const char *name)
{
    static const char *const methods[] = {"get", "put", "post", "patch", "delete"};
    for (size_t index = 0; index < COUNT_OF(methods); index++) {
        if (strcmp(name, methods[index]) == 0) {
            return true;
        }
    }
    return false;
}

static void
operations_each(void (*visit)(const Operation *operation, void *context), void *context)
{
    const cJSON *item = NULL;
    cJSON_ArrayForEach(item, member(document, "paths"))
    {
        const cJSON *object = NULL;
        cJSON_ArrayForEach(object, item)
        {
            if (is_method(object->string)) {
                Operation operation = {.path = item->string, .item = item, .object = object};
                for (size_t index = 0; object->string[index] != '\0'; index++) {
                    operation.method[index] = (char)(object->string[index] - 'a' + 'A');
                }
                visit(&operation, context);
            }
        }
    }
}

/* Compares what the handler and the document say of one route. */
static void
assert_is_same(const Operation *operation, const Handler *handler)
{
    const char *described = text(operation->object, "operationId");
    if (strcmp(described, handler->operation_id) != 0) {
        fail_msg("%s %s: its operationId is '%s' in openapi.yaml, but '%s' in its handler", operation->method,
            operation->path, described, handler->operation_id);
    }
    const cJSON *security = member(operation->object, "security");
    bool is_described_public = cJSON_IsArray(security) && cJSON_GetArraySize(security) == 0;
    bool is_public = handler->access == ACCESS_PUBLIC;
    if (is_described_public != is_public) {
        fail_msg("%s %s: openapi.yaml %s `security: []`, but its handler's access is %sACCESS_PUBLIC",
            operation->method, operation->path, is_described_public ? "has" : "lacks",
            is_public ? "" : "not ");
    }
}

static void
assert_is_served(const Operation *operation, void *context)
{
    size_t *count = context;
    for (size_t index = 0; index < handler_table_count; index++) {
        const Handler *handler = handler_table[index];
        if (strcmp(handler->path, operation->path) == 0 && strcmp(handler->method, operation->method) == 0) {
            assert_is_same(operation, handler);
            (*count)++;
            return;
        }
    }
    fail_msg("%s %s is described, but no handler serves it", operation->method, operation->path);
}

static void
every_route_is_described_and_every_description_is_served(void **state)
{
    (void)state;
    size_t count = 0;
    operations_each(assert_is_served, &count);
    for (size_t index = 0; index < handler_table_count; index++) {
        const Handler *handler = handler_table[index];
        const cJSON *item = member(member(document, "paths"), handler->path);
        char method[8] = "";
        for (size_t letter = 0; handler->method[letter] != '\0'; letter++) {
            method[letter] = (char)(handler->method[letter] - 'A' + 'a');
        }
        if (member(item, method) == NULL) {
            fail_msg("%s %s (%s) is served, but not described", handler->method, handler->path,
                handler->operation_id);
        }
    }
    assert_int_equal(count, handler_table_count);
}

static void
assert_path_parameters(const Operation *operation, void *context)
{
    (void)context;
    for (const char *brace = strchr(operation->path, '{'); brace != NULL; brace = strchr(brace + 1, '{')) {
        Slice name = slice_of(brace + 1, strcspn(brace + 1, "}"));
        bool is_described = false;
        const cJSON *given = NULL;
        cJSON_ArrayForEach(given, member(operation->item, "parameters"))
        {
            const cJSON *parameter = json_schema_resolve(document, given);
            is_described = is_described || (slice_equals_string(name, text(parameter, "name")) &&
                                               strcmp(text(parameter, "in"), "path") == 0);
        }
        if (!is_described) {
            fail_msg("%s: the parameter '%.*s' is not described", operation->path, SLICE_PRINT(name));
        }
    }
}

static void
every_parameter_of_a_path_is_described(void **state)
{
    (void)state;
    operations_each(assert_path_parameters, NULL);
}

static void
assert_references(const cJSON *node)
{
    const cJSON *child = NULL;
    cJSON_ArrayForEach(child, node)
    {
        if (child->string != NULL && strcmp(child->string, "$ref") == 0 &&
            json_schema_resolve(document, node) == NULL) {
            fail_msg("'%s' leads nowhere", child->valuestring);
        }
        assert_references(child);
    }
}

static void
every_reference_leads_somewhere(void **state)
{
    (void)state;
    assert_references(document);
}

static void
the_committed_json_is_what_the_yaml_says(void **state)
{
    (void)state;
    char path[256];
    const char *out = getenv("OUT");
    (void)snprintf(path, sizeof path, "%s/gen/openapi/openapi.json", out == NULL ? "build/release" : out);
    TensorBuffer *converted = file_read(path);
    assert_non_null(converted);
    bool is_same = slice_equals_string(slice_of(converted->data, converted->size), openapi_json);
    tensor_buffer_unref(converted);
    if (!is_same) {
        fail_msg("openapi.json is not what openapi.yaml says: run `make openapi`");
    }
}

/* One request that openapi.yaml gives, with the status that it promises. */
typedef struct Try {
    const char *name;
    const cJSON *body; /* NULL: none */
    const char *content_type;
    const char *query;
    const cJSON *headers;
    int status;
} Try;

/* Returns the value for {name} of a path: a thing made for this one request, so that no request disturbs
 * another. */
static void
parameter_value(Cluster *cluster, Slice name, const char *example, char *ret_value, size_t size)
{
    const char *value = example;
    if (slice_equals_string(name, "session")) {
        cluster_session(cluster, "{\"slots\":2,\"placement\":\"spread\"}");
        cluster_graph(cluster, STEP_GRAPH_AFFINE);
        value = cluster->session;
    } else if (slice_equals_string(name, "graph")) {
        value = cluster->graph;
    } else if (slice_equals_string(name, "step")) {
        cluster_queued_step(
            cluster, "{\"feeds\":{\"x\":[[1,2]]},\"fetches\":[\"y\"],\"options\":{\"trace\":\"node\"}}");
        value = cluster->step;
    } else if (slice_equals_string(name, "run")) {
        cluster_partial_run(cluster, "{\"feeds\":[\"x\"],\"fetches\":[\"xw\",\"y\"]}");
        value = cluster->partial_run;
    } else if (slice_equals_string(name, "worker")) {
        value = "w1";
    }
    if (value[0] == '\0') {
        fail_msg("nothing is known to stand in for '{%.*s}'", SLICE_PRINT(name));
    }
    (void)snprintf(ret_value, size, "%s", value);
}

static const char *
parameter_example(const Operation *operation, Slice name)
{
    const cJSON *given = NULL;
    cJSON_ArrayForEach(given, member(operation->item, "parameters"))
    {
        const cJSON *parameter = json_schema_resolve(document, given);
        if (slice_equals_string(name, text(parameter, "name"))) {
            return text(parameter, "example");
        }
    }
    return "";
}

static void
path_fill(Cluster *cluster, const Operation *operation, const char *query, char ret_path[CLUSTER_URL_SIZE])
{
    AUTO_BUFFER path = {0};
    Slice rest = slice_from_string(operation->path);
    for (size_t open = slice_find(rest, '{'); open < rest.size; open = slice_find(rest, '{')) {
        size_t close = slice_find(rest, '}');
        Slice name = slice_part(rest, open + 1, close - open - 1);
        char value[128];
        parameter_value(cluster, name, parameter_example(operation, name), value, sizeof value);
        buffer_append_slice(&path, slice_part(rest, 0, open));
        buffer_append_string(&path, value);
        rest = slice_part(rest, close + 1, rest.size);
    }
    buffer_append_slice(&path, rest);
    (void)snprintf(ret_path, CLUSTER_URL_SIZE, "%.*s%s%s", (int)path.size, path.data,
        query[0] == '\0' ? "" : "?", query);
}

/* Finds the description of this status; errors may have the default one. */
static const cJSON *
response_find(const Operation *operation, int status)
{
    char name[8];
    const cJSON *responses = member(operation->object, "responses");
    (void)snprintf(name, sizeof name, "%d", status);
    const cJSON *exact = member(responses, name);
    const cJSON *found = exact != NULL || status < 400 ? exact : member(responses, "default");
    if (found == NULL) {
        fail_msg("%s %s: the status %d is not described", operation->method, operation->path, status);
    }
    return json_schema_resolve(document, found);
}

static void
assert_as_described(const Operation *operation, RestResponse *response)
{
    char type[128];
    char fault[FAULT_SIZE];
    const cJSON *content = member(response_find(operation, response->status), "content");
    (void)snprintf(type, sizeof type, "%s", rest_header(response, "Content-Type"));
    type[strcspn(type, ";")] = '\0';
    if (content == NULL) {
        assert_int_equal(response->body.size, 0);
        return;
    }
    const cJSON *form = member(content, type);
    if (form == NULL) {
        fail_msg("%s %s: the media type '%s' of a %d is not described", operation->method, operation->path,
            type, response->status);
    }
    if (strstr(type, "json") != NULL) {
        cJSON *body = cJSON_Parse(rest_text(response));
        if (!json_schema_check(document, member(form, "schema"), body, fault, sizeof fault)) {
            fail_msg("%s %s: %s in %s", operation->method, operation->path, fault, rest_text(response));
        }
        cJSON_Delete(body);
    }
}

static void
headers_fill(const cJSON *headers, char ret_lines[HEADERS_MAX][160], const char *ret_list[HEADERS_MAX + 1])
{
    size_t count = 0;
    const cJSON *header = NULL;
    cJSON_ArrayForEach(header, headers)
    {
        assert_true(count < HEADERS_MAX);
        (void)snprintf(ret_lines[count], 160, "%s: %s", header->string, header->valuestring);
        ret_list[count] = ret_lines[count];
        count++;
    }
    ret_list[count] = NULL;
}

static void
try_send(Cluster *cluster, const Operation *operation, const Try *wanted)
{
    char path[CLUSTER_URL_SIZE];
    char url[2 * CLUSTER_URL_SIZE];
    char lines[HEADERS_MAX][160];
    const char *headers[HEADERS_MAX + 1];
    AUTO_REST response = {0};
    path_fill(cluster, operation, wanted->query, path);
    (void)snprintf(url, sizeof url, "http://%s%s", cluster->gateway.address, path);
    headers_fill(wanted->headers, lines, headers);
    char *body = wanted->body == NULL ? NULL : cJSON_PrintUnformatted(wanted->body);
    RestRequest request = {
        .method = operation->method,
        .url = url,
        .content_type = wanted->content_type,
        .body = body == NULL ? (Slice){0} : slice_from_string(body),
        .headers = headers,
    };
    rest_send(&request, &response);
    cJSON_free(body);
    if (response.status != wanted->status) {
        fail_msg("%s, example '%s': status %d, not %d: %s", text(operation->object, "operationId"),
            wanted->name, response.status, wanted->status, rest_text(&response));
    }
    assert_as_described(operation, &response);
}

typedef struct Tries {
    Cluster *cluster;
    size_t count;
} Tries;

/* Sends the examples in a member of a body's form: "examples" are of its schema and taken, "x-refused" ones
 * are not taken, whether they are of its schema or not. */
static size_t
try_examples(Cluster *cluster, const Operation *operation, const cJSON *form, const char *kind)
{
    size_t count = 0;
    bool is_refused = strcmp(kind, "x-refused") == 0;
    const cJSON *example = NULL;
    cJSON_ArrayForEach(example, member(form, kind))
    {
        const cJSON *status = member(example, "x-try");
        char fault[FAULT_SIZE];
        if (status == NULL) {
            continue;
        }
        if (is_refused != (status->valueint >= 400)) {
            fail_msg("%s, example '%s': a %d stands among %s", operation->path, example->string,
                status->valueint, kind);
        }
        if (!is_refused && !json_schema_check(document, member(form, "schema"), member(example, "value"),
                               fault, sizeof fault)) {
            fail_msg("%s, example '%s': %s", operation->path, example->string, fault);
        }
        Try wanted = {
            .name = example->string,
            .body = member(example, "value"),
            .content_type = form->string,
            .query = text(example, "x-query"),
            .headers = member(example, "x-headers"),
            .status = status->valueint,
        };
        try_send(cluster, operation, &wanted);
        count++;
    }
    return count;
}

static size_t
try_bodies(Cluster *cluster, const Operation *operation)
{
    size_t count = 0;
    const cJSON *form = NULL;
    cJSON_ArrayForEach(form, member(member(operation->object, "requestBody"), "content"))
    {
        count += try_examples(cluster, operation, form, "examples");
        count += try_examples(cluster, operation, form, "x-refused");
    }
    return count;
}

static void
try_operation(const Operation *operation, void *context)
{
    Tries *tries = context;
    size_t count = try_bodies(tries->cluster, operation);
    const cJSON *one = NULL;
    cJSON_ArrayForEach(one, member(operation->object, "x-try"))
    {
        Try wanted = {
            .name = "x-try",
            .query = text(one, "query"),
            .headers = member(one, "headers"),
            .status = member(one, "status")->valueint,
        };
        try_send(tries->cluster, operation, &wanted);
        count++;
    }
    if (count == 0) {
        fail_msg("%s has no example marked x-try", text(operation->object, "operationId"));
    }
    tries->count += count;
}

static void
every_example_is_answered_as_written(void **state)
{
    Tries tries = {.cluster = *state};
    operations_each(try_operation, &tries);
    assert_true(tries.count >= handler_table_count);
}

static int
document_open(void **state)
{
    (void)state;
    document = cJSON_Parse(openapi_json);
    return document == NULL ? -1 : 0;
}

static int
document_close(void **state)
{
    (void)state;
    cJSON_Delete(document);
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        /* first: the others read the JSON, and mislead while it is old */
        cmocka_unit_test(the_committed_json_is_what_the_yaml_says),
        cmocka_unit_test(every_route_is_described_and_every_description_is_served),
        cmocka_unit_test(every_parameter_of_a_path_is_described),
        cmocka_unit_test(every_reference_leads_somewhere),
        CLUSTER_TEST(every_example_is_answered_as_written),
    };
    return cmocka_run_group_tests_name("openapi", tests, document_open, document_close);
}
