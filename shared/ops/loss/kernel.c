/* Losses of classifiers. With x the features less their largest and s = Σ e^x, a class has the probability
 * e^x / s; the loss is Σ label × (log s - x) and its gradient probability - label. */
#include <math.h>

#include "worker/reference/doubles.h"
#include "worker/reference/outputs.h"

static bool
supports_floats(const Node *node)
{
    return dtype_is_floating(node->input_dtypes[0]);
}

/* Makes one example's features relative to the largest; returns log Σ e^x. */
static double
center_features(double *features, int64_t classes)
{
    double largest = -(double)INFINITY;
    double sum = 0;
    for (int64_t k = 0; k < classes; k++) {
        largest = features[k] > largest || features[k] != features[k] ? features[k] : largest;
    }
    for (int64_t k = 0; k < classes; k++) {
        features[k] -= largest;
        sum += exp(features[k]);
    }
    return classes > 0 ? log(sum) : 0;
}

/* The rows of a tensor that may be broadcast: strides of 0 repeat. */
typedef struct Rows {
    const double *data;
    int64_t row_stride;
    int64_t column_stride;
} Rows;

static Rows
rows_of(const Tensor *tensor)
{
    int rank = tensor->shape.rank;
    int64_t columns = rank < 1 ? 1 : tensor->shape.dims[rank - 1];
    Rows rows = {.data = tensor->data,
        .row_stride = rank < 2 || tensor->shape.dims[0] == 1 ? 0 : columns,
        .column_stride = columns == 1 ? 0 : 1};
    return rows;
}

static double
rows_at(const Rows *rows, int64_t row, int64_t column)
{
    return rows->data[row * rows->row_stride + column * rows->column_stride];
}

static Status
cross_entropy_compute(KernelContext *context)
{
    AUTO_DOUBLES doubles = {0};
    TRY(doubles_begin(context, &doubles));
    Rows features = rows_of(&doubles.inputs[0]);
    Rows labels = rows_of(&doubles.inputs[1]);
    int64_t batch = doubles.outputs[1].shape.dims[0];
    int64_t classes = doubles.outputs[1].shape.dims[1];
    for (int64_t n = 0; n < batch; n++) {
        double *x = &doubles_out(&doubles, 1)[n * classes];
        double loss = 0;
        for (int64_t k = 0; k < classes; k++) {
            x[k] = rows_at(&features, n, k);
        }
        double logarithm = center_features(x, classes);
        for (int64_t k = 0; k < classes; k++) {
            double label = rows_at(&labels, n, k);
            loss += label * (logarithm - x[k]);
            x[k] = exp(x[k] - logarithm) - label;
        }
        doubles_out(&doubles, 0)[n] = loss;
    }
    return doubles_finish(context, &doubles);
}

static Status
read_label(KernelContext *context, int64_t n, int64_t classes, int64_t *ret_label)
{
    *ret_label = -1;
    if (!tensor_to_int64(&context->inputs[1], n, ret_label) || *ret_label < 0 || *ret_label >= classes) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT,
            "label %lld at %lld is not within %lld classes", (long long)*ret_label, (long long)n,
            (long long)classes);
    }
    return STATUS_OK;
}

static Status
sparse_cross_entropy_compute(KernelContext *context)
{
    AUTO_DOUBLES doubles = {0};
    TRY(doubles_begin(context, &doubles));
    int64_t batch = doubles.outputs[1].shape.dims[0];
    int64_t classes = doubles.outputs[1].shape.dims[1];
    for (int64_t n = 0; n < batch; n++) {
        int64_t label = 0;
        double *x = &doubles_out(&doubles, 1)[n * classes];
        TRY(read_label(context, n, classes, &label));
        memcpy(x, &doubles_in(&doubles, 0)[n * classes], (size_t)classes * sizeof *x);
        double logarithm = center_features(x, classes);
        doubles_out(&doubles, 0)[n] = logarithm - x[label];
        for (int64_t k = 0; k < classes; k++) {
            x[k] = exp(x[k] - logarithm) - (k == label ? 1 : 0);
        }
    }
    return doubles_finish(context, &doubles);
}

/* True when fewer than k predictions are larger than the target's. False when one of them is not finite. */
static bool
is_in_top(const float *predictions, int64_t classes, int64_t target, int64_t k)
{
    if (target < 0 || target >= classes || !isfinite(predictions[target])) {
        return false;
    }
    int64_t larger = 0;
    for (int64_t n = 0; n < classes && larger <= k; n++) {
        if (!isfinite(predictions[n])) {
            return false;
        }
        larger += predictions[n] > predictions[target] ? 1 : 0;
    }
    return larger < k;
}

static Status
in_top(KernelContext *context, int64_t k)
{
    const Tensor *predictions = &context->inputs[0];
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    int64_t classes = predictions->shape.dims[1];
    for (int64_t n = 0; n < output->shape.dims[0]; n++) {
        int64_t target = -1;
        if (!tensor_to_int64(&context->inputs[1], n, &target)) {
            target = -1;
        }
        ((uint8_t *)output->data)[n] =
            is_in_top((const float *)predictions->data + n * classes, classes, target, k);
    }
    return STATUS_OK;
}

static Status
in_top_k_compute(KernelContext *context)
{
    return in_top(context, node_attr_int(context->node, "k"));
}

static Status
in_top_k_v2_compute(KernelContext *context)
{
    int64_t k = 0;
    size_t count = 0;
    TRY(kernel_input_ints(context, 2, &k, 1, &count));
    return count == 1 ? in_top(context, k)
                      : call_fail(context->call, STATUS_INVALID_ARGUMENT, "k is not one value");
}

static const Kernel loss_kernels[] = {
    {.op = "SoftmaxCrossEntropyWithLogits",
        .supports = supports_floats,
        .compute = cross_entropy_compute,
        DOUBLES_SCRATCH},
    {.op = "SparseSoftmaxCrossEntropyWithLogits",
        .supports = supports_floats,
        .compute = sparse_cross_entropy_compute,
        DOUBLES_SCRATCH},
    {.op = "InTopK", .compute = in_top_k_compute},
    {.op = "InTopKV2", .compute = in_top_k_v2_compute, .host_inputs = 1 << 2},
};

KERNEL_FAMILY(reference, loss, loss_kernels);
