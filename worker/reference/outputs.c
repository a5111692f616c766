#include "worker/reference/outputs.h"

#include <assert.h>

#include "shared/base/memory.h"

/* Returns whether the kernel may read the input's elements: those in an accelerator's memory only its lane's
 * work may. */
static bool
is_readable(const KernelContext *context, const Tensor *input)
{
    return input->dtype != DTYPE_INVALID && (context->lane == NULL || tensor_is_on_host(input));
}

static void
tell(const KernelContext *context, Shape *shapes, const Tensor **values)
{
    for (uint32_t index = 0; index < context->input_count; index++) {
        bool is_absent = context->inputs[index].dtype == DTYPE_INVALID;
        shapes[index] = is_absent ? shape_unknown() : context->inputs[index].shape;
        values[index] = is_readable(context, &context->inputs[index]) ? &context->inputs[index] : NULL;
    }
}

void
kernel_inference(const KernelContext *context, Shape *ret_outputs, KernelInference *ret_inference)
{
    assert(context->input_count <= INFER_INPUTS_MAX);
    tell(context, ret_inference->shapes, ret_inference->values);
    ret_inference->context = (InferContext){.node = context->node,
        .inputs = ret_inference->shapes,
        .values = ret_inference->values,
        .outputs = ret_outputs};
}

static Status
run_rule(KernelContext *context, InferContext *infer)
{
    for (uint32_t index = 0; index < context->output_count; index++) {
        infer->outputs[index] = shape_unknown();
    }
    return context->node->op->infer_shapes(context->call, infer);
}

static Status
check_known(KernelContext *context, const Shape *shapes)
{
    for (uint32_t index = 0; index < context->output_count; index++) {
        if (!shape_is_known(&shapes[index])) {
            char text[SHAPE_TEXT_SIZE];
            return call_fail(context->call, STATUS_INTERNAL,
                "the shape rule of '%.*s' leaves output %u as %s", SLICE_PRINT(context->node->op->name),
                index, shape_text(&shapes[index], text));
        }
    }
    return STATUS_OK;
}

Status
output_rule(KernelContext *context, Shape *ret_shapes)
{
    if (context->input_count <= INFER_INPUTS_MAX) {
        KernelInference inference;
        kernel_inference(context, ret_shapes, &inference);
        return run_rule(context, &inference.context);
    }
    AUTO_MEMORY Shape *shapes = memory_new(context->input_count, sizeof *shapes);
    AUTO_MEMORY const Tensor **values = memory_new(context->input_count, sizeof *values);
    if (shapes == NULL || values == NULL) {
        return call_fail_memory(context->call, "the inputs' shapes");
    }
    tell(context, shapes, values);
    InferContext infer = {.node = context->node, .inputs = shapes, .values = values, .outputs = ret_shapes};
    return run_rule(context, &infer);
}

Status
output_shapes(KernelContext *context, Shape *ret_shapes)
{
    TRY(output_rule(context, ret_shapes));
    return check_known(context, ret_shapes);
}

Status
output_new(KernelContext *context, Tensor **ret_output)
{
    assert(context->output_count >= 1);
    Shape shape;
    TRY(output_shapes(context, &shape));
    return kernel_output(context, 0, context->node->output_dtypes[0], &shape, ret_output);
}

Status
output_forward(KernelContext *context, uint32_t input, Tensor **ret_output)
{
    Shape shape;
    TRY(output_shapes(context, &shape));
    return output_forward_shaped(context, input, &shape, ret_output);
}

Status
output_forward_shaped(KernelContext *context, uint32_t input, const Shape *shape, Tensor **ret_output)
{
    assert(input < context->input_count && context->output_count >= 1);
    Dtype dtype = context->node->output_dtypes[0];
    return context->inputs[input].dtype == dtype ? kernel_forward(context, input, 0, dtype, shape, ret_output)
                                                 : kernel_output(context, 0, dtype, shape, ret_output);
}
