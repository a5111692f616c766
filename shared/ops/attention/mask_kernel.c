#include "shared/ops/attention/mask_rule.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

typedef struct KeyMask {
    const int64_t *mask;
    double *bias;
    double filter;
    int64_t batch;
    int64_t queries;
    int64_t keys;
    int rank;      /* of the mask */
    int64_t count; /* its elements */
} KeyMask;

/* Returns whether a key counts by the positions that a vector holds. */
static bool
is_between(const KeyMask *mask, int64_t example, int64_t key)
{
    bool has_begin = mask->count == 2 * mask->batch;
    return key < mask->mask[example] && (!has_begin || key >= mask->mask[mask->batch + example]);
}

static void
fill_row(const KeyMask *mask, int64_t example, int64_t query)
{
    int64_t row = example * mask->queries + query;
    const int64_t *kept = mask->mask + (mask->rank == 2 ? example : row) * mask->keys;
    for (int64_t key = 0; key < mask->keys; key++) {
        bool counts = mask->rank == 1 ? is_between(mask, example, key) : kept[key] > 0;
        mask->bias[row * mask->keys + key] = counts ? 0 : mask->filter;
    }
}

static bool
supports_mask(const Node *node)
{
    return dtype_is_integer(node->input_dtypes[0]) && dtype_is_floating(node->input_dtypes[1]);
}

static Status
key_mask_compute(KernelContext *context)
{
    Shape shape;
    AUTO_TENSOR numbers = {0};
    AUTO_TENSOR bias = {0};
    TRY(output_shapes(context, &shape));
    TRY(scratch_cast(context, &context->inputs[0], DTYPE_INT64, &numbers));
    TRY(scratch_new(context, DTYPE_FLOAT64, &shape, &bias));
    KeyMask mask = {.mask = numbers.data,
        .bias = bias.data,
        .filter = (double)node_attr_float(context->node, "mask_filter_value"),
        .batch = shape.dims[0],
        .queries = shape.dims[2],
        .keys = shape.dims[3],
        .rank = numbers.shape.rank,
        .count = tensor_element_count(&numbers)};
    for (int64_t row = 0; mask.keys > 0 && tensor_element_count(&bias) > 0 && row < mask.batch * mask.queries;
         row++) {
        fill_row(&mask, row / mask.queries, row % mask.queries);
    }
    return scratch_finish(context, 0, &bias);
}

static const Kernel attention_mask_kernels[] = {
    {.op = "com.microsoft::_KeyMask",
        .supports = supports_mask,
        .compute = key_mask_compute,
        .wide_inputs = 1,
        .wide_outputs = 1,
        .any_inputs = 1U << 1 | 1U << 2 | 1U << 3},
};

KERNEL_FAMILY(reference, attention_mask, attention_mask_kernels);
