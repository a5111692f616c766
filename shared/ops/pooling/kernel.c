/* Largest and mean values and norms within windows. Padding has no value: it is neither the largest nor
 * counted, unless ONNX's count_include_pad says so. */
#include <math.h>

#include "shared/ops/pooling/rule.h"
#include "worker/reference/elements.h"
#include "worker/reference/outputs.h"
#include "worker/reference/sliding.h"
#include "worker/reference/strided_copy.h"

typedef struct Pool {
    Sliding sliding;
    Window inside;  /* the part of the window that lies within the input, at one position of the output */
    Sliding narrow; /* over it */
    const void *input;
    void *output;
    int64_t *indices;     /* positions of the largest values, or NULL */
    int64_t plane;        /* elements of one channel */
    bool is_column_major; /* whether indices count columns first within a plane */
    bool counts_padding;
    double p; /* of the norm */
} Pool;

typedef void (*PoolLoop)(Pool *pool);

/* Computes each output element of each channel by the function name_one. */
#define POOL_LOOP(name, unused, upper, lower, storage, compute, read, write)                                 \
    static void name##_##lower(Pool *pool)                                                                   \
    {                                                                                                        \
        const Sliding *sliding = &pool->sliding;                                                             \
        Walk output = sliding_outputs(sliding);                                                              \
        Walk element = sliding_window(sliding, NULL);                                                        \
        for (int64_t batch = 0; batch < sliding->batch; batch++) {                                           \
            for (int64_t channel = 0; channel < sliding->channels; channel++) {                              \
                const storage *x = (const storage *)pool->input + batch * sliding->input.batch +             \
                                   channel * sliding->input.channel;                                         \
                int64_t first = batch * sliding->output.batch + channel * sliding->output.channel;           \
                do {                                                                                         \
                    sliding_narrow(sliding, &output, &pool->inside, &element);                               \
                    name##_one_##lower(pool, x, &output, &element, first + output.offset,                    \
                        (batch * sliding->channels + channel) * pool->plane);                                \
                } while (walk_next(&output));                                                                \
            }                                                                                                \
        }                                                                                                    \
    }

/* Returns the index of an input element in its plane, counted as ONNX does. */
static int64_t
plane_index(const Pool *pool, int64_t offset)
{
    if (!pool->is_column_major) {
        return offset;
    }
    const Sliding *sliding = &pool->sliding;
    int64_t index = 0;
    int64_t size = 1;
    for (int dimension = 0; dimension < sliding->window->rank; dimension++) {
        index += offset / sliding->input.space[dimension] * size;
        offset %= sliding->input.space[dimension];
        size *= sliding->input_size[dimension];
    }
    return index;
}

#define SIGNED_LOWEST(storage) ((int64_t)(UINT64_MAX << (8 * sizeof(storage) - 1)))

#define MAX_ONE(name, lowest, upper, lower, storage, compute, read, write)                                   \
    static void name##_one_##lower(const Pool *pool, const storage *x, const Walk *output, Walk *element,    \
        int64_t target, int64_t plane)                                                                       \
    {                                                                                                        \
        typedef storage Storage __attribute__((unused));                                                     \
        compute largest = (compute)(lowest);                                                                 \
        int64_t found = -1;                                                                                  \
        do {                                                                                                 \
            int64_t offset = sliding_offset(&pool->narrow, output, element);                                 \
            if (offset < 0) {                                                                                \
                continue;                                                                                    \
            }                                                                                                \
            compute a = read(x[offset]);                                                                     \
            if (found < 0 || a > largest || (a != a && largest == largest)) {                                \
                largest = a;                                                                                 \
                found = offset;                                                                              \
            }                                                                                                \
        } while (walk_next(element));                                                                        \
        ((storage *)pool->output)[target] = write(largest);                                                  \
        if (pool->indices != NULL) {                                                                         \
            pool->indices[target] = found < 0 ? -1 : plane + plane_index(pool, found);                       \
        }                                                                                                    \
    }

FLOATING_ELEMENTS(MAX_ONE, largest, -INFINITY)
SIGNED_ELEMENTS(MAX_ONE, largest, SIGNED_LOWEST(Storage))
UNSIGNED_ELEMENTS(MAX_ONE, largest, 0)
REAL_ELEMENTS(POOL_LOOP, largest, )
static const PoolLoop largest_loops[DTYPE_COUNT] = {REAL_LOOPS(largest)};

#define MEAN_ONE(name, unused, upper, lower, storage, compute, read, write)                                  \
    static void name##_one_##lower(const Pool *pool, const storage *x, const Walk *output, Walk *element,    \
        int64_t target, int64_t plane)                                                                       \
    {                                                                                                        \
        (void)plane;                                                                                         \
        double sum = 0;                                                                                      \
        int64_t count = 0;                                                                                   \
        do {                                                                                                 \
            int64_t offset = sliding_offset(&pool->narrow, output, element);                                 \
            if (offset >= 0) {                                                                               \
                sum += (double)read(x[offset]);                                                              \
                count++;                                                                                     \
            }                                                                                                \
        } while (walk_next(element));                                                                        \
        count = pool->counts_padding ? sliding_padded_count(&pool->sliding, output) : count;                 \
        ((storage *)pool->output)[target] = write((compute)(sum / (double)count));                           \
    }

FLOATING_ELEMENTS(MEAN_ONE, mean, )
FLOATING_ELEMENTS(POOL_LOOP, mean, )
static const PoolLoop mean_loops[DTYPE_COUNT] = {FLOATING_LOOPS(mean)};

/* The p-th root of the sum of the absolute values' p-th powers; padding counts as 0. */
#define NORM_ONE(name, unused, upper, lower, storage, compute, read, write)                                  \
    static void name##_one_##lower(const Pool *pool, const storage *x, const Walk *output, Walk *element,    \
        int64_t target, int64_t plane)                                                                       \
    {                                                                                                        \
        (void)plane;                                                                                         \
        double sum = 0;                                                                                      \
        do {                                                                                                 \
            int64_t offset = sliding_offset(&pool->narrow, output, element);                                 \
            sum += offset < 0 ? 0 : pow(fabs((double)read(x[offset])), pool->p);                             \
        } while (walk_next(element));                                                                        \
        ((storage *)pool->output)[target] = write((compute)pow(sum, 1 / pool->p));                           \
    }

FLOATING_ELEMENTS(NORM_ONE, norm, )
FLOATING_ELEMENTS(POOL_LOOP, norm, )
static const PoolLoop norm_loops[DTYPE_COUNT] = {FLOATING_LOOPS(norm)};

typedef Status (*ReadPooling)(Call *call, const InferContext *context, Pooling *ret_pooling);

static bool
is_set(const Node *node, const char *name)
{
    return node_attr(node, name) != NULL && node_attr_int(node, name) != 0;
}

static Status
compute_pool(KernelContext *context, const PoolLoop *loops, ReadPooling read)
{
    const Tensor *input = &context->inputs[0];
    KernelInference inference;
    Pooling pooling;
    kernel_inference(context, NULL, &inference);
    TRY(read(context->call, &inference.context, &pooling));
    Tensor *output = NULL;
    Tensor *indices = NULL;
    TRY(kernel_output(context, 0, input->dtype, &pooling.output, &output));
    if (context->output_count > 1) {
        TRY(kernel_output(context, 1, DTYPE_INT64, &pooling.output, &indices));
    }
    if (tensor_element_count(output) == 0) {
        return STATUS_OK;
    }
    Pool pool = {
        .sliding = sliding_over(&pooling.window, &input->shape, &output->shape),
        .input = input->data != NULL ? input->data : output->data, /* never read when there are no elements */
        .output = output->data,
        .indices = indices == NULL ? NULL : indices->data,
        .is_column_major = is_set(context->node, "storage_order"),
        .counts_padding = is_set(context->node, "count_include_pad"),
        .p = is_set(context->node, "p") ? (double)node_attr_int(context->node, "p") : 0,
    };
    pool.plane = pool.sliding.input.channel;
    pool.narrow = pool.sliding;
    pool.narrow.window = &pool.inside;
    loops[input->dtype](&pool);
    return STATUS_OK;
}

/* The kernel functions of a pool: its loops by dtype, and the rule that reads its windows. */
#define POOL(name, loops, reader)                                                                            \
    static bool name##_supports(const Node *node)                                                            \
    {                                                                                                        \
        return loops[node->input_dtypes[0]] != NULL;                                                         \
    }                                                                                                        \
    static Status name##_compute(KernelContext *context)                                                     \
    {                                                                                                        \
        return compute_pool(context, loops, reader);                                                         \
    }

POOL(max_pool, largest_loops, pooling_tensorflow)
POOL(mean_pool, mean_loops, pooling_tensorflow)
POOL(onnx_max_pool, largest_loops, pooling_onnx)
POOL(onnx_mean_pool, mean_loops, pooling_onnx)
POOL(global_max_pool, largest_loops, pooling_global)
POOL(global_mean_pool, mean_loops, pooling_global)
POOL(norm_pool, norm_loops, pooling_onnx)
POOL(global_norm_pool, norm_loops, pooling_global)

#define POOL_KERNEL(name, function)                                                                          \
    {                                                                                                        \
        .op = (name), .supports = function##_supports, .compute = function##_compute                         \
    }

static const Kernel pooling_kernels[] = {
    POOL_KERNEL("MaxPool", max_pool),
    POOL_KERNEL("AvgPool", mean_pool),
    POOL_KERNEL("MaxPool3D", max_pool),
    POOL_KERNEL("AvgPool3D", mean_pool),
    POOL_KERNEL("onnx::MaxPool", onnx_max_pool),
    POOL_KERNEL("onnx::AveragePool", onnx_mean_pool),
    POOL_KERNEL("onnx::GlobalMaxPool", global_max_pool),
    POOL_KERNEL("onnx::GlobalAveragePool", global_mean_pool),
    POOL_KERNEL("onnx::GlobalLpPool", global_norm_pool),
    POOL_KERNEL("onnx::LpPool", norm_pool),
};

KERNEL_FAMILY(reference, pooling, pooling_kernels);
