#include "gateway/http/guards.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "gateway/http/characters.h"
#include "shared/net/socket.h"

static const char end_of_line[2] = {'\0', '\0'}; /* what libmicrohttpd makes of CRLF */

static Status
fail_layout(Call *call, const char *where)
{
    return call_fail(call, STATUS_INVALID_ARGUMENT,
        "the header block is malformed %s: lines must end with CR LF, must not be folded, and hold no NUL",
        where);
}

/* Returns whether the field's name starts where the line before ended, and its value behind "name:" and
 * spaces. `*line` moves to the next line. */
static bool
line_is_contiguous(Field field, const char **line)
{
    if (field.name.data != *line || field.value.data == NULL || field.value.data <= field.name.data) {
        return false;
    }
    size_t gap = (size_t)(field.value.data - field.name.data);
    if (gap <= field.name.size || field.name.data[field.name.size] != '\0') {
        return false;
    }
    for (size_t index = field.name.size + 1; index < gap; index++) {
        if (field.name.data[index] != ' ' && field.name.data[index] != '\t') {
            return false;
        }
    }
    *line = field.value.data + field.value.size + sizeof end_of_line;
    return memcmp(field.value.data + field.value.size, end_of_line, sizeof end_of_line) == 0;
}

Status
guard_layout(Call *call, const Head *head)
{
    assert(head->method != NULL && head->target != NULL && head->version != NULL);

    if (head->method + strlen(head->method) + 1 != head->target ||
        head->target + head->target_size + 1 != head->version ||
        memcmp(head->version + strlen(head->version), end_of_line, sizeof end_of_line) != 0) {
        return fail_layout(call, "in the request line");
    }
    const char *line = head->version + strlen(head->version) + sizeof end_of_line;
    for (size_t index = 0; index < head->field_count; index++) {
        if (!line_is_contiguous(head->fields[index], &line)) {
            return fail_layout(call, index == 0 ? "before the first header" : "among the headers");
        }
    }
    bool is_whole = head->method + head->size == line + sizeof end_of_line &&
                    memcmp(line, end_of_line, sizeof end_of_line) == 0;
    return is_whole ? STATUS_OK : fail_layout(call, "at its end");
}

size_t
head_size(const Head *head)
{
    if (head->field_count == 0) {
        return head->target_size;
    }
    Slice last = head->fields[head->field_count - 1].value;
    return (size_t)(last.data + last.size - head->target);
}

static const char *const unique_names[] = {
    "Authorization",
    "Content-Encoding",
    "Content-Length",
    "Content-Type",
    "Host",
    "Idempotency-Key",
    "Transfer-Encoding",
};

/* Returns the bit of a name that may come only once, 0 for any other. */
static unsigned
unique_bit(Slice name)
{
    for (size_t index = 0; index < COUNT_OF(unique_names); index++) {
        if (slice_equal_ignoring_case(name, slice_from_string(unique_names[index]))) {
            return 1U << index;
        }
    }
    return 0;
}

Status
guard_fields(Call *call, const Field *fields, size_t field_count)
{
    assert(fields != NULL || field_count == 0);

    unsigned seen = 0;
    for (size_t index = 0; index < field_count; index++) {
        Field field = fields[index];
        if (field.name.size == 0 || !character_all(field.name, CHARACTER_TOKEN)) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "header %zu has no valid name", index + 1);
        }
        if (!character_all(field.value, CHARACTER_VALUE)) {
            return call_fail(
                call, STATUS_INVALID_ARGUMENT, "header '%.*s' holds control bytes", SLICE_PRINT(field.name));
        }
        unsigned bit = unique_bit(field.name);
        if ((seen & bit) != 0) {
            return call_fail(
                call, STATUS_INVALID_ARGUMENT, "header '%.*s' is given twice", SLICE_PRINT(field.name));
        }
        seen |= bit;
    }
    return STATUS_OK;
}

Status
guard_host(Call *call, const Request *request, const char *version)
{
    return request_header(request, "Host").data == NULL && strcmp(version, "HTTP/1.0") != 0
               ? call_fail(call, STATUS_INVALID_ARGUMENT, "the Host header is missing")
               : STATUS_OK;
}

/* Returns "host" of "host" or "host:port". */
static Slice
authority_host(Slice authority)
{
    const char *colon = authority.size == 0 ? NULL : memrchr(authority.data, ':', authority.size);
    bool has_port = colon != NULL && authority.data[authority.size - 1] != ']';
    return has_port ? slice_of(authority.data, (size_t)(colon - authority.data)) : authority;
}

/* Tells whether the host is a loopback address or "localhost"; nothing is looked up. */
static bool
is_this_machine(Slice host)
{
    char address[ADDRESS_TEXT_SIZE];
    int size = snprintf(address, sizeof address, "%.*s:0", SLICE_PRINT(host));
    return size < (int)sizeof address && address_is_loopback(address);
}

/* Tells whether the host is a name of the Internet's DNS, which its owner can let lead anywhere: one with a
 * dot. Single labels ("gateway", "localhost") are not, nor are numbers of addresses. */
static bool
is_domain(Slice host)
{
    static const char digits_and_dots[] = "0123456789.";
    bool has_dot = false;
    bool is_number = true;
    for (size_t index = 0; index < host.size; index++) {
        has_dot = has_dot || host.data[index] == '.';
        is_number =
            is_number && memchr(digits_and_dots, host.data[index], sizeof digits_and_dots - 1) != NULL;
    }
    return has_dot && !is_number && host.data[0] != '[';
}

/* Returns what stands behind "scheme://"; empty for "null", which is no host's origin. */
static Slice
origin_authority(Slice origin)
{
    Slice separator = SLICE("://");
    const char *found =
        origin.size == 0 ? NULL : memmem(origin.data, origin.size, separator.data, separator.size);
    size_t start = found == NULL ? origin.size : (size_t)(found - origin.data) + separator.size;
    return slice_part(origin, start, origin.size);
}

Status
guard_local(Call *call, const Request *request)
{
    Slice host = request_header(request, "Host");
    Slice origin = request_header(request, "Origin");
    if (is_domain(authority_host(host))) {
        return call_fail(call, STATUS_PERMISSION_DENIED,
            "without keys only this machine is served: Host is '%.*s', expected 'localhost' or an address",
            SLICE_PRINT(slice_part(host, 0, 128)));
    }
    if (origin.data != NULL && !is_this_machine(authority_host(origin_authority(origin)))) {
        return call_fail(call, STATUS_PERMISSION_DENIED,
            "without keys only this machine is served: a page of '%.*s' sent the request",
            SLICE_PRINT(slice_part(origin, 0, 128)));
    }
    return STATUS_OK;
}

Status
guard_framing(Call *call, const Request *request, const char *version, Framing *ret_framing)
{
    Slice length = request_header(request, "Content-Length");
    Slice coding = request_header(request, "Transfer-Encoding");
    Slice expect = request_header(request, "Expect");
    Framing framing = {
        .is_chunked = coding.data != NULL,
        .expects_continue = slice_equal_ignoring_case(slice_trim(expect), SLICE("100-continue")),
    };
    if (length.data != NULL && coding.data != NULL) {
        return call_fail(
            call, STATUS_INVALID_ARGUMENT, "Content-Length and Transfer-Encoding exclude each other");
    }
    if (coding.data != NULL && strcmp(version, "HTTP/1.0") == 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "HTTP/1.0 has no Transfer-Encoding");
    }
    if (coding.data != NULL && !slice_equal_ignoring_case(slice_trim(coding), SLICE("chunked"))) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "Transfer-Encoding is '%.*s', only 'chunked' is understood", SLICE_PRINT(coding));
    }
    if (length.data != NULL && !slice_to_uint64(slice_trim(length), &framing.content_length)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "Content-Length '%.*s' is no decimal number of bytes",
            SLICE_PRINT(length));
    }
    *ret_framing = framing;
    return STATUS_OK;
}
