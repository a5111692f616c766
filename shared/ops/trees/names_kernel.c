/* ai.onnx.ml::_ClassNames: the names at these positions of a list. */
#include "worker/reference/scratch.h"
#include "worker/reference/texts.h"

static Status
choose_names(const KernelContext *context, const AttrValue *names, Slice *ret_chosen)
{
    for (int64_t n = 0; n < tensor_element_count(&context->inputs[0]); n++) {
        int64_t position = -1;
        bool is_known = tensor_to_int64(&context->inputs[0], n, &position);
        if (!is_known || position < 0 || (uint64_t)position >= names->value.list.count) {
            return call_fail(context->call, STATUS_INVALID_ARGUMENT, "there is no class %lld of %zu",
                (long long)position, names->value.list.count);
        }
        ret_chosen[n] = names->value.list.items[position].value.s;
    }
    return STATUS_OK;
}

static Status
class_names_compute(KernelContext *context)
{
    AUTO_TENSOR chosen = {0};
    int64_t count = tensor_element_count(&context->inputs[0]);
    TRY(scratch_array(context, count, sizeof(Slice), &chosen));
    TRY(choose_names(context, node_attr(context->node, "names"), chosen.data));
    return texts_new(context, &context->inputs[0].shape, chosen.data, &context->outputs[0]);
}

static bool
supports_positions(const Node *node)
{
    return dtype_is_integer(node->input_dtypes[0]);
}

static const Kernel trees_names_kernels[] = {
    {.op = "ai.onnx.ml::_ClassNames", .supports = supports_positions, .compute = class_names_compute},
};

KERNEL_FAMILY(reference, trees_names, trees_names_kernels);
