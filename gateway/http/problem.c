#include "gateway/http/problem.h"

#include <ctype.h>
#include <stdio.h>

#include "shared/json/writer.h"

const char problem_media_type[] = "application/problem+json";

enum { HTTP_ERROR_MIN = 400 };

void
problem_slug(Status code, char ret_slug[PROBLEM_SLUG_SIZE])
{
    (void)snprintf(ret_slug, PROBLEM_SLUG_SIZE, "%s", status_name(code));
    for (char *letter = ret_slug; *letter != '\0'; letter++) {
        *letter = (char)(*letter == '_' ? '-' : tolower((unsigned char)*letter));
    }
}

static bool
is_internal(Status code)
{
    return code == STATUS_INTERNAL || code == STATUS_DATA_LOSS;
}

static void
details_write(JsonWriter *writer, const Error *error)
{
    json_write_name(writer, "errors");
    json_write_array_begin(writer);
    for (int index = 0; index < error->detail_count; index++) {
        json_write_object_begin(writer);
        json_member_string(writer, "pointer", error->details[index].pointer);
        json_member_string(writer, "detail", error->details[index].detail);
        json_write_object_end(writer);
    }
    json_write_array_end(writer);
}

void
problem_write_document(const Call *call, int http_status, const Slice *instance, Buffer *buffer)
{
    const Error *error = &call->error;
    const char *detail = is_internal(error->code)
                             ? "something went wrong here; the log has it under the request id"
                             : error->message;
    char slug[PROBLEM_SLUG_SIZE];
    char type[sizeof "/problems/" + sizeof slug];
    problem_slug(error->code, slug);
    (void)snprintf(type, sizeof type, "/problems/%s", slug);

    JsonWriter writer = json_writer(buffer);
    json_write_object_begin(&writer);
    json_member_string(&writer, "type", type);
    json_member_string(&writer, "title", http_status_title(http_status));
    json_member_int64(&writer, "status", http_status);
    json_member_string(&writer, "detail", detail);
    if (instance != NULL) {
        json_member_slice(&writer, "instance", *instance);
    }
    json_member_string(&writer, "code", status_name(error->code));
    if (instance != NULL) {
        json_member_string(&writer, "request_id", call->request_id);
    }
    json_member_boolean(&writer, "retryable", status_is_retryable(error->code));
    if (error->detail_count > 0) {
        details_write(&writer, error);
    }
    json_member_string(&writer, "error", detail);
    json_write_object_end(&writer);
    buffer_append_byte(buffer, '\n');
}

void
problem_write(const Call *call, Slice instance, Response *response)
{
    int http_status =
        response->status >= HTTP_ERROR_MIN ? response->status : status_http_code(call->error.code);
    response_clear_body(response);
    response_status(response, http_status);
    response->etag = NULL;
    if (http_status == 401) {
        response_header(response, "WWW-Authenticate", "Bearer realm=\"sluice\", Basic realm=\"sluice\"");
    }
    if ((http_status == 429 || http_status == 503) && response_header_get(response, "Retry-After") == NULL) {
        response_header(response, "Retry-After", "1");
    }
    problem_write_document(call, http_status, &instance, response_body(response, problem_media_type));
}
