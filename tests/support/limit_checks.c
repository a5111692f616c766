#include "tests/support/limit_checks.h"

#include "tests/support/cmocka_all.h"

uint64_t
limit_shown(Cluster *cluster, const char *name)
{
    char row[128];
    uint64_t value = 0;
    AUTO_REST limits = {0};
    cluster_send(cluster, "GET", "/api/v1/limits", NULL, &limits);
    (void)snprintf(row, sizeof row, "{\"name\":\"%s\",\"value\":", name);
    const char *found = strstr(rest_text(&limits), row);
    if (found == NULL) {
        fail_msg("the limit %s is not shown", name);
    }
    const char *digits = found + strlen(row);
    assert_true(slice_to_uint64(slice_of(digits, strspn(digits, "0123456789")), &value));
    return value;
}

void
limit_send(Cluster *cluster, const char *path, Slice body, const char *header, RestResponse *ret_response)
{
    char url[CLUSTER_URL_SIZE];
    const char *const headers[] = {header, NULL};
    (void)snprintf(url, sizeof url, "http://%s%s", cluster->gateway.address, path);
    RestRequest request = {.method = "POST", .url = url, .body = body, .headers = headers};
    rest_send(&request, ret_response);
}

void
limit_expect(Cluster *cluster, const char *path, Slice body, const char *header, int expected)
{
    AUTO_REST response = {0};
    limit_send(cluster, path, body, header, &response);
    if (response.status != expected) {
        fail_msg("POST %s: status %d, not %d: %s", path, response.status, expected, rest_text(&response));
    }
}

const char *
limit_session_path(const Cluster *cluster, const char *what)
{
    static char path[CLUSTER_URL_SIZE / 2];
    (void)snprintf(path, sizeof path, "/api/v1/sessions/%s/%s", cluster->session, what);
    return path;
}

void
limit_placeholders(Buffer *graph, uint64_t count)
{
    buffer_append_string(graph, "{\"node\":[");
    for (uint64_t index = 0; index < count; index++) {
        buffer_append_format(graph,
            "%s{\"name\":\"p%llu\",\"op\":\"Placeholder\",\"attr\":{\"dtype\":{\"type\":\"DT_FLOAT\"}}}",
            index == 0 ? "" : ",", (unsigned long long)index);
    }
    buffer_append_string(graph, "]}");
}

void
limit_pairs_create(Cluster *cluster, uint64_t count)
{
    AUTO_BUFFER graph = {0};
    limit_placeholders(&graph, count);
    graph.size -= strlen("]}");
    for (uint64_t index = 0; index < count; index++) {
        buffer_append_format(&graph,
            ",{\"name\":\"y%llu\",\"op\":\"Identity\",\"input\":[\"p%llu\"],"
            "\"attr\":{\"T\":{\"type\":\"DT_FLOAT\"}}}",
            (unsigned long long)index, (unsigned long long)index);
    }
    buffer_append_string(&graph, "]}");
    cluster_session(cluster, "{}");
    cluster_graph(cluster, buffer_string(&graph));
}

void
limit_pad(Buffer *text, uint64_t size)
{
    while (text->size < size) {
        buffer_append_byte(text, ' ');
    }
    assert_int_equal(text->size, size);
}

void
limit_nested_step(Buffer *step, uint64_t depth)
{
    buffer_append_string(step, "{\"feeds\":{\"p0\":");
    for (uint64_t level = 0; level < depth; level++) {
        buffer_append_byte(step, '[');
    }
    buffer_append_byte(step, '1');
    for (uint64_t level = 0; level < depth; level++) {
        buffer_append_byte(step, ']');
    }
    buffer_append_string(step, "},\"fetches\":[\"y0\"]}");
}

void
limit_extend(Cluster *cluster, const char *addition, int expected)
{
    static const char *const headers[] = {"If-Match: *", NULL};
    AUTO_REST response = {0};
    cluster_extend(cluster, headers, addition, &response);
    cluster_expect(&response, expected, NULL);
    (void)rest_member(&response, "id", cluster->graph, sizeof cluster->graph);
}
