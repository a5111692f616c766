#include "shared/ops/generate/mel_rule.h"

static Status
read_number(Call *call, const InferContext *context, uint32_t input, int64_t *ret_number)
{
    int64_t number = -1;
    bool is_known = false;
    TRY(infer_int(call, context, input, &number, &is_known));
    if (is_known && number < 1) {
        return call_fail(
            call, STATUS_INVALID_ARGUMENT, "input %u is %lld, not at least 1", input, (long long)number);
    }
    *ret_number = is_known ? number : -1;
    return STATUS_OK;
}

Status
mel_scale_read(Call *call, const InferContext *context, MelScale *ret_scale)
{
    MelScale scale;
    TRY(read_number(call, context, MEL_BINS, &scale.bins));
    TRY(read_number(call, context, MEL_LENGTH, &scale.length));
    TRY(read_number(call, context, MEL_RATE, &scale.rate));
    scale.output = (Shape){.rank = 2, .dims = {scale.length < 0 ? -1 : scale.length / 2 + 1, scale.bins}};
    *ret_scale = scale;
    return infer_check_size(call, &scale.output);
}
