#include "gateway/http/http_status.h"

#include <stddef.h>

typedef struct StatusInfo {
    int http_status;
    Status code;
    const char *title;
} StatusInfo;

static const StatusInfo infos[] = {
    {400, STATUS_INVALID_ARGUMENT, "Bad Request"},
    {401, STATUS_UNAUTHENTICATED, "Unauthorized"},
    {403, STATUS_PERMISSION_DENIED, "Forbidden"},
    {404, STATUS_NOT_FOUND, "Not Found"},
    {405, STATUS_UNIMPLEMENTED, "Method Not Allowed"},
    {406, STATUS_INVALID_ARGUMENT, "Not Acceptable"},
    {408, STATUS_DEADLINE_EXCEEDED, "Request Timeout"},
    {409, STATUS_ABORTED, "Conflict"},
    {410, STATUS_NOT_FOUND, "Gone"},
    {411, STATUS_INVALID_ARGUMENT, "Length Required"},
    {412, STATUS_FAILED_PRECONDITION, "Precondition Failed"},
    {413, STATUS_OUT_OF_RANGE, "Content Too Large"},
    {414, STATUS_OUT_OF_RANGE, "URI Too Long"},
    {415, STATUS_INVALID_ARGUMENT, "Unsupported Media Type"},
    {416, STATUS_OUT_OF_RANGE, "Range Not Satisfiable"},
    {422, STATUS_INVALID_ARGUMENT, "Unprocessable Content"},
    {428, STATUS_FAILED_PRECONDITION, "Precondition Required"},
    {429, STATUS_RESOURCE_EXHAUSTED, "Too Many Requests"},
    {431, STATUS_OUT_OF_RANGE, "Request Header Fields Too Large"},
    {499, STATUS_CANCELLED, "Client Closed Request"},
    {500, STATUS_INTERNAL, "Internal Server Error"},
    {501, STATUS_UNIMPLEMENTED, "Not Implemented"},
    {502, STATUS_UNAVAILABLE, "Bad Gateway"},
    {503, STATUS_UNAVAILABLE, "Service Unavailable"},
    {504, STATUS_DEADLINE_EXCEEDED, "Gateway Timeout"},
};

static const StatusInfo *
info_find(int http_status)
{
    for (size_t index = 0; index < COUNT_OF(infos); index++) {
        if (infos[index].http_status == http_status) {
            return &infos[index];
        }
    }
    return NULL;
}

const char *
http_status_title(int http_status)
{
    const StatusInfo *const info = info_find(http_status);
    return info == NULL ? "Error" : info->title;
}

Status
http_status_code(int http_status)
{
    const StatusInfo *const info = info_find(http_status);
    return info == NULL ? STATUS_INTERNAL : info->code;
}
