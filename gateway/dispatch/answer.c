#include "gateway/dispatch/internals.h"

Status
answer_read_status(UpstreamCall *call, Call *reading, WireStatus *ret_status)
{
    if (upstream_http_status(call) / 100 == 2) {
        *ret_status = (WireStatus){.failure.code = STATUS_OK};
        return STATUS_OK;
    }
    if (wire_status_read(reading, upstream_body(call), ret_status) != STATUS_OK ||
        ret_status->failure.code == STATUS_OK) {
        *ret_status = (WireStatus){
            .failure = failure_of(STATUS_INTERNAL, (Slice){0}, "the worker refused without a reason")};
    }
    return ret_status->failure.code;
}
