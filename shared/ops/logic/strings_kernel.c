/* Strings that are compared, byte for byte. */
#include "worker/reference/broadcast.h"
#include "worker/reference/outputs.h"
#include "worker/reference/texts.h"

static void
compare_loop(const ElementRun *run, bool equals)
{
    const Slice *x = run->inputs[0];
    const Slice *y = run->inputs[1];
    bool *z = run->output;
    for (int64_t n = 0; n < run->count; n++) {
        z[n] = slice_equal(x[n * run->strides[0]], y[n * run->strides[1]]) == equals;
    }
}

static void
equal_loop(const ElementRun *run)
{
    compare_loop(run, true);
}

static void
not_equal_loop(const ElementRun *run)
{
    compare_loop(run, false);
}

/* Shapes that do not fit give one answer for all, where the node allows them. */
static Status
compare_strings(KernelContext *context, ElementLoop loop, bool answer)
{
    Shape merged;
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    Tensor x = context->inputs[0];
    Tensor y = context->inputs[1];
    if (!shape_broadcast(&x.shape, &y.shape, &merged)) {
        *(bool *)output->data = answer;
        return STATUS_OK;
    }
    x.dtype = y.dtype = DTYPE_COMPLEX128; /* elements of 16 bytes, as Slices are */
    const Tensor *inputs[] = {&x, &y};
    broadcast_share(context->device, inputs, 2, output, NULL, loop);
    return STATUS_OK;
}

static Status
equal_compute(KernelContext *context)
{
    return compare_strings(context, equal_loop, false);
}

static Status
not_equal_compute(KernelContext *context)
{
    return compare_strings(context, not_equal_loop, true);
}

static bool
reads_strings(const Node *node)
{
    return node->input_dtypes[0] == DTYPE_STRING;
}

static const Kernel string_logic_kernels[] = {
    {.op = "Equal", .supports = reads_strings, .compute = equal_compute},
    {.op = "NotEqual", .supports = reads_strings, .compute = not_equal_compute},
    {.op = "onnx::Equal", .supports = reads_strings, .compute = equal_compute},
};

KERNEL_FAMILY(reference, logic_strings, string_logic_kernels);
