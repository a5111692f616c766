/* Checks of values while a graph runs. */
#include "shared/ops/assert/summary.h"
#include "worker/reference/outputs.h"

/* Input 0 is the condition; the others are shown when it does not hold. */
static Status
fail_assertion(KernelContext *context)
{
    AUTO_BUFFER text = {0};
    int64_t entries = node_attr_int(context->node, "summarize");
    for (uint32_t index = 1; index < context->input_count; index++) {
        buffer_append_string(&text, index > 1 ? " [" : "[");
        summary_append(&text, &context->inputs[index], entries);
        buffer_append_byte(&text, ']');
    }
    if (!buffer_is_ok(&text)) {
        return call_fail_memory(context->call, "what an assertion shows");
    }
    return call_fail(
        context->call, STATUS_INVALID_ARGUMENT, "assertion failed: %.*s", SLICE_PRINT(buffer_slice(&text)));
}

static Status
assert_compute(KernelContext *context)
{
    Shape none[1];
    TRY(output_shapes(context, none));
    return *(const uint8_t *)context->inputs[0].data != 0 ? STATUS_OK : fail_assertion(context);
}

static const Kernel assert_kernels[] = {
    {.op = "Assert", .compute = assert_compute, .host_inputs = UINT32_MAX, .is_cheap = true},
};

KERNEL_FAMILY(reference, assert, assert_kernels);
