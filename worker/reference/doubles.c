#include "worker/reference/doubles.h"

#include <assert.h>

#include "worker/reference/fill.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

bool
doubles_hold_inputs(const Node *node)
{
    for (uint32_t index = 0; index < node->input_count; index++) {
        if (!dtype_is_floating(node->input_dtypes[index])) {
            return false;
        }
    }
    return true;
}

Status
doubles_begin(KernelContext *context, Doubles *ret_doubles)
{
    assert(context->input_count <= DOUBLES_TENSORS_MAX && context->output_count <= DOUBLES_TENSORS_MAX);
    Shape shapes[DOUBLES_TENSORS_MAX];
    TRY(output_shapes(context, shapes));
    for (uint32_t index = 0; index < context->input_count; index++) {
        if (dtype_is_floating(context->inputs[index].dtype)) {
            TRY(scratch_cast(context, &context->inputs[index], DTYPE_FLOAT64, &ret_doubles->inputs[index]));
        }
    }
    for (uint32_t index = 0; index < context->output_count; index++) {
        TRY(scratch_new(context, DTYPE_FLOAT64, &shapes[index], &ret_doubles->outputs[index]));
        fill_zero(&ret_doubles->outputs[index]);
    }
    return STATUS_OK;
}

Status
doubles_finish(KernelContext *context, const Doubles *doubles)
{
    for (uint32_t index = 0; index < context->output_count; index++) {
        TRY(scratch_finish(context, index, &doubles->outputs[index]));
    }
    return STATUS_OK;
}

void
doubles_done(Doubles *doubles)
{
    for (size_t index = 0; index < DOUBLES_TENSORS_MAX; index++) {
        tensor_unref(&doubles->inputs[index]);
        tensor_unref(&doubles->outputs[index]);
    }
}
