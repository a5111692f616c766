#include "shared/ops/segment/rule.h"

Status
segment_read(
    Call *call, const Tensor *ids, int64_t position, int64_t previous, int64_t segments, int64_t *ret_segment)
{
    int64_t segment = -1;
    bool is_number = tensor_to_int64(ids, position, &segment);
    if (!is_number || segment < 0 || segment >= segments) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "segment id %lld at %lld is not within %lld segments",
            (long long)segment, (long long)position, (long long)segments);
    }
    if (segment < previous) {
        return call_fail(
            call, STATUS_INVALID_ARGUMENT, "segment ids are not increasing at %lld", (long long)position);
    }
    *ret_segment = segment;
    return STATUS_OK;
}
