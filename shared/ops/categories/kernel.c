/* Labels and categories are found in a table of the listed ones, which each run makes anew. */
#include "shared/ops/categories/key_table.h"
#include "worker/reference/fill.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"
#include "worker/reference/texts.h"

enum { MAP_INPUT, MAP_KEYS, MAP_VALUES, MAP_DEFAULT };

/* Copies the value of each element's key, else the default. */
static void
choose_values(const KernelContext *context, const KeyTable *table, void *chosen, size_t size)
{
    const Tensor *input = &context->inputs[MAP_INPUT];
    const char *values = context->inputs[MAP_VALUES].data;
    for (int64_t n = 0; n < tensor_element_count(input); n++) {
        int64_t position = key_table_find(table, input, n);
        const char *value =
            position < 0 ? context->inputs[MAP_DEFAULT].data : values + (size_t)position * size;
        memcpy((char *)chosen + (size_t)n * size, value, size);
    }
}

static Status
map_labels_compute(KernelContext *context)
{
    AUTO_KEY_TABLE table = {.by_key = NULL};
    AUTO_TENSOR strings = {0};
    Shape shape;
    Tensor *output = NULL;
    Dtype dtype = context->node->output_dtypes[0];
    TRY(output_shapes(context, &shape));
    TRY(key_table_begin(context, &context->inputs[MAP_KEYS], &table));
    if (dtype == DTYPE_STRING) {
        TRY(scratch_array(context, tensor_element_count(&context->inputs[0]), sizeof(Slice), &strings));
        choose_values(context, &table, strings.data, sizeof(Slice));
        return texts_new(context, &shape, strings.data, &context->outputs[0]);
    }
    TRY(kernel_output(context, 0, dtype, &shape, &output));
    choose_values(context, &table, output->data, dtype_size(dtype));
    return STATUS_OK;
}

static bool
map_labels_supports(const Node *node)
{
    return key_table_support(node->input_dtypes[0]) && key_table_support(node->output_dtypes[0]);
}

static Status
list_strings(KernelContext *context, const AttrValue *list, Tensor *ret_list)
{
    AUTO_TENSOR strings = {0};
    int64_t count = (int64_t)list->value.list.count;
    Shape shape = shape_vector(count);
    TRY(scratch_array(context, count, sizeof(Slice), &strings));
    for (int64_t n = 0; n < count; n++) {
        ((Slice *)strings.data)[n] = list->value.list.items[n].value.s;
    }
    return texts_new(context, &shape, strings.data, ret_list);
}

static Status
list_integers(KernelContext *context, const AttrValue *list, Tensor *ret_list)
{
    int64_t count = (int64_t)list->value.list.count;
    Shape shape = shape_vector(count);
    TRY(scratch_new(context, DTYPE_INT64, &shape, ret_list));
    for (int64_t n = 0; n < count; n++) {
        ((int64_t *)ret_list->data)[n] = list->value.list.items[n].value.i;
    }
    return STATUS_OK;
}

/* Makes a tensor of the categories, which are strings or integers as the input is. */
static Status
list_categories(KernelContext *context, Tensor *ret_list)
{
    bool has_strings = context->inputs[0].dtype == DTYPE_STRING;
    const AttrValue *strings = node_attr(context->node, "cats_strings");
    const AttrValue *integers = node_attr(context->node, "cats_int64s");
    if ((has_strings ? integers : strings)->value.list.count > 0) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT, "categories of %s do not fit an input of %s",
            has_strings ? "integers" : "strings", has_strings ? "strings" : "numbers");
    }
    return has_strings ? list_strings(context, strings, ret_list)
                       : list_integers(context, integers, ret_list);
}

static Status
set_ones(KernelContext *context, const Tensor *input, const KeyTable *table, Tensor *output)
{
    int64_t size = output->shape.dims[output->shape.rank - 1];
    for (int64_t n = 0; n < tensor_element_count(input); n++) {
        int64_t position = key_table_find(table, input, n);
        if (position >= 0) {
            ((float *)output->data)[n * size + position] = 1;
        } else if (node_attr_int(context->node, "zeros") == 0) {
            return call_fail(context->call, STATUS_INVALID_ARGUMENT,
                "element %lld is none of the %lld categories, and zeros=0 asks for one of them", (long long)n,
                (long long)size);
        }
    }
    return STATUS_OK;
}

static Status
one_hot_compute(KernelContext *context)
{
    AUTO_KEY_TABLE table = {.by_key = NULL};
    AUTO_TENSOR list = {0};
    AUTO_TENSOR integers = {0};
    Tensor *output = NULL;
    const Tensor *input = &context->inputs[0];
    TRY(output_new(context, &output));
    fill_zero(output);
    TRY(list_categories(context, &list));
    TRY(key_table_begin(context, &list, &table));
    if (input->dtype != DTYPE_STRING) {
        TRY(scratch_cast(context, input, DTYPE_INT64, &integers));
    }
    return set_ones(context, input->dtype == DTYPE_STRING ? input : &integers, &table, output);
}

static bool
one_hot_supports(const Node *node)
{
    return key_table_support(node->input_dtypes[0]);
}

static const Kernel categories_kernels[] = {
    {.op = "ai.onnx.ml::_MapLabels", .supports = map_labels_supports, .compute = map_labels_compute},
    {.op = "ai.onnx.ml::OneHotEncoder", .supports = one_hot_supports, .compute = one_hot_compute},
};

KERNEL_FAMILY(reference, categories, categories_kernels);
