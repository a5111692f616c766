#include "gateway/http/request.h"

static Slice
field_find(const Field *fields, size_t count, const char *name)
{
    for (size_t index = 0; index < count; index++) {
        if (slice_equals_string(fields[index].name, name)) {
            return fields[index].value;
        }
    }
    return (Slice){0};
}

Slice
request_header(const Request *request, const char *name)
{
    Slice wanted = slice_from_string(name);
    for (size_t index = 0; index < request->header_count; index++) {
        if (slice_equal_ignoring_case(request->headers[index].name, wanted)) {
            return request->headers[index].value;
        }
    }
    return (Slice){0};
}

Slice
request_parameter(const Request *request, const char *name)
{
    return field_find(request->parameters, request->parameter_count, name);
}

Slice
request_query(const Request *request, const char *name)
{
    return field_find(request->query, request->query_count, name);
}

Status
request_query_uint64(
    Call *call, const Request *request, const char *name, uint64_t maximum, uint64_t *ret_value)
{
    Slice text = request_query(request, name);
    if (text.data == NULL) {
        return STATUS_OK;
    }
    uint64_t value = 0;
    if (!slice_to_uint64(text, &value) || value > maximum) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "query parameter '%s' is '%.*s', expected an integer from 0 to %llu", name, SLICE_PRINT(text),
            (unsigned long long)maximum);
    }
    *ret_value = value;
    return STATUS_OK;
}

Status
request_query_boolean(Call *call, const Request *request, const char *name, bool *ret_value)
{
    Slice text = request_query(request, name);
    if (text.data == NULL) {
        return STATUS_OK;
    }
    bool is_true = text.size == 0 || slice_equals_string(text, "true");
    if (!is_true && !slice_equals_string(text, "false")) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "query parameter '%s' is '%.*s', expected 'true' or 'false'", name, SLICE_PRINT(text));
    }
    *ret_value = is_true;
    return STATUS_OK;
}

Status
request_query_allow(Call *call, const Request *request, const char *const *names)
{
    for (size_t index = 0; index < request->query_count; index++) {
        const char *const *known = names;
        while (*known != NULL && !slice_equals_string(request->query[index].name, *known)) {
            known++;
        }
        if (*known == NULL) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "query parameter '%.*s' is not known here",
                SLICE_PRINT(request->query[index].name));
        }
    }
    return STATUS_OK;
}

bool
request_is_method(const Request *request, const char *method)
{
    return strcmp(request->method, method) == 0;
}
