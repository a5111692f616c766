/* Labels mapped to others, and categories as rows of ones and zeros (ai.onnx.ml). */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

/* The keys and the values are lists of one length; the default is one value. */
static Status
infer_map(Call *call, InferContext *context)
{
    enum { KEYS = 1, VALUES, DEFAULT };
    Shape keys;
    Shape values;
    int64_t count = 0;
    int64_t defaults = 0;
    TRY(infer_rank(call, context, KEYS, 1, &keys));
    TRY(infer_rank(call, context, VALUES, 1, &values));
    TRY(infer_equal(call, keys.dims[0], values.dims[0], "the number of keys and values", &count));
    if (shape_is_known(&context->inputs[DEFAULT]) &&
        shape_element_count(&context->inputs[DEFAULT], &defaults) && defaults != 1) {
        return call_fail(
            call, STATUS_INVALID_ARGUMENT, "the default has %lld elements, not one", (long long)defaults);
    }
    return infer_unchanged(call, context);
}

static Status
infer_one_hot(Call *call, InferContext *context)
{
    Shape last = shape_vector((int64_t)(node_attr_count(context->node, "cats_int64s") +
                                        node_attr_count(context->node, "cats_strings")));
    context->outputs[0] = context->inputs[0];
    if (context->inputs[0].rank < 0) {
        return STATUS_OK;
    }
    TRY(infer_append(call, &last, 0, 1, &context->outputs[0]));
    return infer_check_size(call, &context->outputs[0]);
}

static const OpDefinition categories_ops[] = {
    OP("ai.onnx.ml::_MapLabels(X:K, keys:K, values:V, default:V)->(Y:V) {K:type, V:type}", 0, infer_map),
    OP("ai.onnx.ml::OneHotEncoder(X:T)->(Y:float) {cats_int64s:list(int)=[], cats_strings:list(string)=[], "
       "zeros:int=1, T:type}",
        0, infer_one_hot),
};

OP_FAMILY(categories, categories_ops);
