/* Random numbers, with the counters and keys of the reference kernels: a node's sequence is one, wherever its
 * runs are computed (worker/reference/random_sequence.h). */
#include "worker/cuda/kernels/random.h"

#include <string.h>

#include "worker/cuda/errors.h"
#include "worker/cuda/kernels/lines.h"
#include "worker/cuda/lane.h"
#include "worker/cuda/operands/types.h"
#include "worker/reference/outputs.h"
#include "worker/reference/random_sequence.h"
#include "worker/reference/scratch.h"

_Static_assert(sizeof(CudaPhilox) == sizeof(Philox), "one generator on both sides");

static CudaPhilox
cuda_philox(const Philox *philox)
{
    CudaPhilox copied;
    memcpy(&copied, philox, sizeof copied);
    return copied;
}

static bool
supports_floats(const Node *node)
{
    return dtype_is_floating(node->output_dtypes[0]);
}

static bool
supports_integers(const Node *node)
{
    return node->output_dtypes[0] == DTYPE_INT32 || node->output_dtypes[0] == DTYPE_INT64;
}

static bool
supports_logits(const Node *node)
{
    return supports_integers(node) && dtype_is_floating(node->input_dtypes[0]);
}

static Status
fill_output(KernelContext *context, CudaDistribution distribution, const Philox *start, Tensor *output)
{
    int64_t group = output->dtype == DTYPE_FLOAT64 ? 2 : 4;
    CudaRandom random = {
        .start = cuda_philox(start),
        .apart = distribution == CUDA_RANDOM_TRUNCATED ? random_counters_apart(group) : 1,
        .output = output->data,
        .count = tensor_element_count(output),
    };
    int error = cuda_random(distribution, cuda_type(output->dtype), &random, cuda_stream(context));
    return cuda_check(context->call, error, "random numbers");
}

static Status
draw_next(KernelContext *context, CudaDistribution distribution)
{
    Tensor *output = NULL;
    Philox start;
    TRY(output_new(context, &output));
    TRY(random_sequence_reserve_outputs(context, tensor_element_count(output), &start));
    return fill_output(context, distribution, &start, output);
}

/* How the host inputs of an op without state tell where its numbers begin. */
typedef Status (*ReadStart)(KernelContext *context, Philox *ret_start);

static Status
draw_from(KernelContext *context, CudaDistribution distribution, ReadStart read_start)
{
    Tensor *output = NULL;
    Philox start;
    TRY(output_new(context, &output));
    TRY(read_start(context, &start));
    return fill_output(context, distribution, &start, output);
}

/* The kernel functions of a distribution. */
#define DRAWS(name, distribution)                                                                            \
    static Status name##_compute(KernelContext *context)                                                     \
    {                                                                                                        \
        return draw_next(context, distribution);                                                             \
    }                                                                                                        \
    static Status name##_compute_stateless(KernelContext *context)                                           \
    {                                                                                                        \
        return draw_from(context, distribution, random_stateless);                                           \
    }                                                                                                        \
    static Status name##_compute_keyed(KernelContext *context)                                               \
    {                                                                                                        \
        return draw_from(context, distribution, random_keyed);                                               \
    }

DRAWS(uniform, CUDA_RANDOM_UNIFORM)
DRAWS(normal, CUDA_RANDOM_NORMAL)
DRAWS(truncated, CUDA_RANDOM_TRUNCATED)

static Status
fill_integers(
    KernelContext *context, const Philox *start, int64_t minimum, uint64_t range, const Tensor *output)
{
    CudaRandomIntegers random = {
        .start = cuda_philox(start),
        .minimum = minimum,
        .range = range,
        .output = output->data,
        .count = tensor_element_count(output),
        .is_wide = output->dtype == DTYPE_INT64,
    };
    return cuda_check(context->call, cuda_random_integers(&random, cuda_stream(context)), "random integers");
}

static Status
uniform_int_compute(KernelContext *context)
{
    Tensor *output = NULL;
    int64_t minimum = 0;
    uint64_t range = 0;
    Philox start;
    TRY(output_new(context, &output));
    if (output->data == NULL) {
        return STATUS_OK;
    }
    TRY(random_range(context, 1, &minimum, &range));
    TRY(random_sequence_reserve_outputs(context, tensor_element_count(output), &start));
    return fill_integers(context, &start, minimum, range, output);
}

/* The range begins at input `low`. */
static Status
draw_integers_from(KernelContext *context, uint32_t low, ReadStart read_start)
{
    Tensor *output = NULL;
    int64_t minimum = 0;
    uint64_t range = 0;
    Philox start;
    TRY(output_new(context, &output));
    TRY(read_start(context, &start));
    TRY(random_range(context, low, &minimum, &range));
    return fill_integers(context, &start, minimum, range, output);
}

static Status
stateless_int_compute(KernelContext *context)
{
    return draw_integers_from(context, 2, random_stateless);
}

static Status
keyed_int_compute(KernelContext *context)
{
    return draw_integers_from(context, 4, random_keyed);
}

/* Adds up the shares of each row, in place. */
static int
add_shares(const CudaClasses *classes, cudaStream_t stream)
{
    CudaRunning running = {.lines = {.input = classes->sums,
                               .output = classes->sums,
                               .outer = classes->rows,
                               .size = classes->classes,
                               .inner = 1}};
    return cuda_running(CUDA_FLOAT64, &running, stream);
}

static Status
run_classes(KernelContext *context, const CudaClasses *classes)
{
    static const char what[] = "a draw of classes";
    cudaStream_t stream = cuda_stream(context);
    CudaType type = cuda_type(context->inputs[0].dtype);
    TRY(cuda_check(context->call, cuda_class_shares(type, classes, stream), what));
    TRY(cuda_check(context->call, add_shares(classes, stream), what));
    return cuda_check(context->call, cuda_draw_classes(classes, stream), what);
}

static Status
multinomial_compute(KernelContext *context)
{
    const Tensor *logits = &context->inputs[0];
    Tensor *output = NULL;
    AUTO_TENSOR sums = {0};
    Philox start;
    TRY(output_new(context, &output));
    int64_t samples = output->shape.dims[1];
    if (logits->shape.dims[1] == 0 && output->data != NULL) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT, "there must be at least one class");
    }
    TRY(random_sequence_reserve_outputs(
        context, random_words_of_classes(samples, output->shape.dims[0]), &start));
    if (output->data == NULL) {
        return STATUS_OK;
    }
    TRY(scratch_new(context, DTYPE_FLOAT64, &logits->shape, &sums));
    CudaClasses classes = {
        .start = cuda_philox(&start),
        .logits = logits->data,
        .sums = sums.data,
        .output = output->data,
        .rows = output->shape.dims[0],
        .classes = logits->shape.dims[1],
        .samples = samples,
        .is_wide = output->dtype == DTYPE_INT64,
    };
    return run_classes(context, &classes);
}

#define SEQUENCE .create = random_sequence_create, .destroy = random_sequence_destroy
#define RANDOM(name, distribution)                                                                           \
    {                                                                                                        \
        .op = (name), .supports = supports_floats, .compute = distribution##_compute, .host_inputs = 1,      \
        SEQUENCE                                                                                             \
    }
#define STATELESS(name, how, inputs)                                                                         \
    {                                                                                                        \
        .op = (name), .supports = supports_floats, .compute = (how), .host_inputs = (inputs)                 \
    }

static const Kernel random_kernels[] = {
    RANDOM("RandomUniform", uniform),
    RANDOM("RandomStandardNormal", normal),
    RANDOM("TruncatedNormal", truncated),
    STATELESS("StatelessRandomUniform", uniform_compute_stateless, 3),
    STATELESS("StatelessRandomNormal", normal_compute_stateless, 3),
    STATELESS("StatelessTruncatedNormal", truncated_compute_stateless, 3),
    STATELESS("StatelessRandomUniformV2", uniform_compute_keyed, 15),
    STATELESS("StatelessRandomNormalV2", normal_compute_keyed, 15),
    STATELESS("StatelessTruncatedNormalV2", truncated_compute_keyed, 15),
    {.op = "RandomUniformInt",
        .supports = supports_integers,
        .compute = uniform_int_compute,
        .host_inputs = 7,
        SEQUENCE},
    {.op = "StatelessRandomUniformInt",
        .supports = supports_integers,
        .compute = stateless_int_compute,
        .host_inputs = 15},
    {.op = "StatelessRandomUniformIntV2",
        .supports = supports_integers,
        .compute = keyed_int_compute,
        .host_inputs = 63},
    {.op = "Multinomial",
        .supports = supports_logits,
        .compute = multinomial_compute,
        .host_inputs = 1 << 1,
        SEQUENCE},
};

KERNEL_FAMILY(cuda_kernels, random, random_kernels);
