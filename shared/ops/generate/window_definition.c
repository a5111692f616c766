/* Windows of signals: ONNX's Hann, Hamming and Blackman. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

static Status
infer_window(Call *call, InferContext *context)
{
    int64_t size = 0;
    bool is_known = false;
    TRY(infer_int(call, context, 0, &size, &is_known));
    if (is_known && size < 0) {
        return call_fail(
            call, STATUS_INVALID_ARGUMENT, "the window has %lld elements, not at least 0", (long long)size);
    }
    context->outputs[0] = shape_vector(is_known ? size : -1);
    return STATUS_OK;
}

#define WINDOW(name)                                                                                         \
    OP(name "(size:T1)->(output:output_datatype) {output_datatype:type=DT_FLOAT, periodic:int=1, T1:type}",  \
        0, infer_window)

static const OpDefinition window_ops[] = {
    WINDOW("onnx::HannWindow"),
    WINDOW("onnx::HammingWindow"),
    WINDOW("onnx::BlackmanWindow"),
};

OP_FAMILY(generate_window, window_ops);
