#include "tests/support/rest.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <curl/curl.h>

#include "shared/base/slice.h"

static size_t
take(char *data, size_t size, size_t count, void *context)
{
    buffer_append(context, data, size * count);
    return size * count;
}

static struct curl_slist *
header_list(const RestRequest *request)
{
    char type[256];
    struct curl_slist *list = curl_slist_append(NULL, "Expect:");
    (void)snprintf(type, sizeof type, "Content-Type: %s",
        request->content_type == NULL ? "application/json" : request->content_type);
    if (request->body.data != NULL) {
        list = curl_slist_append(list, type);
    }
    for (size_t index = 0; request->headers != NULL && request->headers[index] != NULL; index++) {
        list = curl_slist_append(list, request->headers[index]);
    }
    return list;
}

void
rest_send(const RestRequest *request, RestResponse *ret_response)
{
    CURL *curl = curl_easy_init();
    struct curl_slist *headers = header_list(request);
    const char *method = request->method == NULL ? "GET" : request->method;
    long status = 0;
    *ret_response = (RestResponse){0};
    (void)curl_easy_setopt(curl, CURLOPT_URL, request->url);
    (void)curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
    (void)curl_easy_setopt(curl, CURLOPT_NOBODY, strcmp(method, "HEAD") == 0 ? 1L : 0L);
    (void)curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    (void)curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
    if (request->timeout_ms == 0) {
        (void)curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
        (void)curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, 20L);
    } else {
        (void)curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, request->timeout_ms);
    }
    (void)curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEDATA, &ret_response->body);
    (void)curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take);
    (void)curl_easy_setopt(curl, CURLOPT_HEADERDATA, &ret_response->headers);
    if (request->body.data != NULL) {
        (void)curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request->body.data);
        (void)curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.size);
    }
    ret_response->curl_code = (int)curl_easy_perform(curl);
    (void)curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    ret_response->status = (int)status;
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
}

void
rest_response_done(RestResponse *response)
{
    buffer_done(&response->headers);
    buffer_done(&response->body);
}

const char *
rest_header(RestResponse *response, const char *name)
{
    static _Thread_local char value[1024]; /* one for each thread, since several ask at once */
    Slice rest = buffer_slice(&response->headers);
    Slice line;
    value[0] = '\0';
    while (slice_split(&rest, '\n', &line)) {
        size_t colon = slice_find(line, ':');
        if (colon == strlen(name) && strncasecmp(line.data, name, colon) == 0) {
            Slice found = slice_trim(slice_part(line, colon + 1, line.size));
            found.size -= found.size > 0 && found.data[found.size - 1] == '\r' ? 1 : 0;
            (void)snprintf(value, sizeof value, "%.*s", SLICE_PRINT(found));
        }
    }
    return value;
}

bool
rest_member(const RestResponse *response, const char *name, char *ret_value, size_t size)
{
    char quoted[64];
    int length = snprintf(quoted, sizeof quoted, "\"%s\":\"", name);
    Slice body = buffer_slice(&response->body);
    const char *found = body.size == 0 ? NULL : memmem(body.data, body.size, quoted, (size_t)length);
    if (found == NULL) {
        return false;
    }
    Slice value = slice_part(body, (size_t)(found - body.data) + (size_t)length, body.size);
    (void)snprintf(ret_value, size, "%.*s", (int)slice_find(value, '"'), value.data);
    return true;
}

const char *
rest_text(RestResponse *response)
{
    const char *text = buffer_string(&response->body);
    return text == NULL ? "" : text;
}
