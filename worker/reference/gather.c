#include "worker/reference/gather.h"

/* GatherV2's axis is an input, ONNX's an attribute; Gather has none. */
static Status
read_axis(KernelContext *context, int64_t *ret_axis)
{
    enum { INPUT_AXIS = 2 };
    const AttrValue *attribute = node_attr(context->node, "axis");
    size_t count = 0;
    *ret_axis = attribute == NULL ? 0 : attribute->value.i;
    return context->input_count > INPUT_AXIS ? kernel_input_ints(context, INPUT_AXIS, ret_axis, 1, &count)
                                             : STATUS_OK;
}

static int64_t
count_batches(const KernelContext *context)
{
    const Shape *indices = &context->inputs[1].shape;
    const AttrValue *attribute = node_attr(context->node, "batch_dims");
    int64_t dimensions = attribute == NULL ? 0 : attribute->value.i;
    int64_t batches = 1;
    dimensions += dimensions < 0 ? indices->rank : 0;
    for (int index = 0; index < (int)dimensions; index++) {
        batches *= indices->dims[index];
    }
    return batches;
}

Status
gather_rows_read(KernelContext *context, GatherRows *ret_rows)
{
    const Shape *params = &context->inputs[0].shape;
    int64_t axis = 0;
    TRY(read_axis(context, &axis));
    GatherRows rows = {.lines = lines_along(params, (int)(axis < 0 ? axis + params->rank : axis)),
        .batches = count_batches(context)};
    rows.count = rows.batches == 0 ? 0 : tensor_element_count(&context->inputs[1]) / rows.batches;
    *ret_rows = rows;
    return STATUS_OK;
}
