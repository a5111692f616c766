/* Convolutions of bytes: onnx::ConvInteger and onnx::QLinearConv. Filters of one channel, of which a group
 * has few, are computed by convolve/byte_depthwise.h, the others by convolve/byte_convolve.h. */
#include "shared/base/memory.h"
#include "shared/ops/convolution.h"
#include "worker/cpu/convolve/byte_convolve.h"
#include "worker/cpu/convolve/byte_depthwise.h"
#include "worker/cpu/product/byte_product.h"
#include "worker/cpu/vector/scaled_sums.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scaling.h"

/* The inputs of the two ops. */
typedef struct IntegerOp {
    uint32_t filter;
    uint32_t x_zero;
    uint32_t w_zero;
} IntegerOp;

static const IntegerOp CONV_INTEGER = {.filter = 1, .x_zero = 2, .w_zero = 3};
static const IntegerOp QLINEAR_CONV = {.filter = 3, .x_zero = 2, .w_zero = 5};

typedef struct Job {
    KernelContext *context;
    const Tensor *input;
    const Tensor *filter;
    Convolution convolution;
    int64_t channels;  /* of the output */
    int64_t taps;      /* elements of the window */
    int64_t positions; /* of the output in one channel */
    ByteImage image;
    bool is_depthwise; /* no image is made */
    int32_t x_zero;
    bool has_filter_zeros; /* one for each channel */
    Tensor filter_zeros;
    Tensor scratch; /* of each lane */
    int64_t lanes;
    int32_t *sums;       /* ConvInteger's output, or NULL */
    char *output;        /* QLinearConv's */
    const float *scales; /* of each channel */
    const int32_t *bias; /* NULL: none */
    Requantizer to;
} Job;

static void
job_done(Job *job)
{
    tensor_unref(&job->filter_zeros);
    tensor_unref(&job->scratch);
}
#define AUTO_JOB CLEANUP(job_done) Job

enum {
    LANES_MAX = 32,
    FEW_OUTPUTS = 8, /* of filters of one channel: fewer do not fill a vector of output channels */
};

/* A filter as convolve/byte_convolve.h reads it. */
typedef struct PackedFilter {
    int8_t *panels; /* NULL: the filter is no constant */
    int32_t *sums;
} PackedFilter;

static Status
create_filter(Call *call, const Node *node, void **ret_state)
{
    (void)node;
    *ret_state = memory_new(1, sizeof(PackedFilter));
    return *ret_state == NULL ? call_fail_memory(call, "a convolution") : STATUS_OK;
}

static void
destroy_filter(void *state)
{
    PackedFilter *packed = state;
    memory_free(packed->panels);
    memory_free(packed->sums);
    memory_free(packed);
}

/* Returns whether filters of these sizes are left to convolve/byte_depthwise.h where it can. */
static bool
has_few_outputs(const ByteFilterShape *shape)
{
    return shape->inputs == 1 && shape->outputs < FEW_OUTPUTS;
}

/* Without memory, the filter is packed in each run. */
static void
pack_constant(const Node *node, const Tensor *filter, PackedFilter *packed)
{
    int64_t groups = node_attr_int(node, "group");
    int64_t count = filter == NULL || filter->data == NULL ? 0 : tensor_element_count(filter);
    if (count == 0 || filter->shape.rank < 3 || groups < 1 || filter->shape.dims[0] % groups != 0) {
        return;
    }
    ByteFilterShape shape = {.groups = groups,
        .inputs = filter->shape.dims[1],
        .outputs = filter->shape.dims[0] / groups,
        .taps = count / (filter->shape.dims[0] * filter->shape.dims[1])};
    if (has_few_outputs(&shape)) {
        return;
    }
    int8_t *panels = memory_new((size_t)groups, (size_t)byte_filter_size(&shape));
    int32_t *sums = memory_new((size_t)groups, (size_t)byte_filter_lanes(&shape) * sizeof *sums);
    if (panels == NULL || sums == NULL) {
        memory_free(panels);
        memory_free(sums);
        return;
    }
    byte_filter_pack(&shape, filter->data, filter->dtype == DTYPE_INT8, panels, sums);
    packed->panels = panels;
    packed->sums = sums;
}

#define PREPARE(name, op)                                                                                    \
    static Status name(                                                                                      \
        Call *call, Device *device, const Node *node, const Tensor *const *constants, void *state)           \
    {                                                                                                        \
        (void)call;                                                                                          \
        (void)device;                                                                                        \
        pack_constant(node, constants[(op).filter], state);                                                  \
        return STATUS_OK;                                                                                    \
    }

PREPARE(prepare_conv_integer, CONV_INTEGER)
PREPARE(prepare_qlinear_conv, QLINEAR_CONV)

/* Writes the sums of one channel of one image. */
static void
write_sums(const Job *job, int64_t batch, int64_t channel, int64_t position, int64_t count, int32_t *sums)
{
    int64_t offset = (batch * job->channels + channel) * job->positions + position;
    if (job->sums != NULL) {
        memcpy(job->sums + offset, sums, (size_t)count * sizeof *sums);
        return;
    }
    uint32_t addend = job->bias == NULL ? 0 : (uint32_t)job->bias[channel];
    for (int64_t n = 0; n < count; n++) {
        sums[n] = (int32_t)((uint32_t)sums[n] + addend);
    }
    scale_sums_alike(&job->to, sums, count, job->scales[channel], job->output + offset);
}

static int32_t
byte_at(const Tensor *tensor, int64_t n)
{
    return tensor->dtype == DTYPE_INT8 ? ((const int8_t *)tensor->data)[n]
                                       : ((const uint8_t *)tensor->data)[n];
}

static ByteExtent
extent_of(const Job *job, int dimension)
{
    const Window *window = &job->convolution.window;
    return (ByteExtent){.input = job->input->shape.dims[window->space + dimension],
        .output = window->output[dimension],
        .size = window->size[dimension],
        .stride = window->stride[dimension],
        .dilation = window->dilation[dimension],
        .before = window->before[dimension]};
}

static const ByteExtent ONE_ROW = {.input = 1, .output = 1, .size = 1, .stride = 1, .dilation = 1};

static ByteDepthwise
depthwise_of(const Job *job)
{
    int rank = job->convolution.window.rank;
    return (ByteDepthwise){.rows = rank == 2 ? extent_of(job, 0) : ONE_ROW,
        .columns = extent_of(job, rank - 1),
        .is_signed = job->input->dtype == DTYPE_INT8,
        .zero_point = job->x_zero};
}

/* Returns how many rows are summed before they are scaled: rows alone are short. */
static int64_t
rows_at_once(const ByteDepthwise *depthwise)
{
    enum { SUMS = 2048 };
    int64_t rows = 1 + SUMS / depthwise->columns.output;
    return rows < depthwise->rows.output ? rows : depthwise->rows.output;
}

static int64_t
sums_size(const ByteDepthwise *depthwise)
{
    return rows_at_once(depthwise) * depthwise->columns.output + BYTE_DEPTHWISE_LANES;
}

/* Returns the bytes of scratch memory of a lane: the filter without its zero point, a row of sums, a channel.
 */
static int64_t
depthwise_room(const Job *job, const ByteDepthwise *depthwise)
{
    return (job->taps + sums_size(depthwise)) * (int64_t)sizeof(int32_t) +
           (byte_depthwise_room(depthwise) + 1) / 2 * (int64_t)sizeof(int32_t);
}

static void
read_factors(const Job *job, int64_t channel, int32_t *ret_factors)
{
    const int32_t *zeros = job->filter_zeros.data;
    int32_t zero = zeros[job->has_filter_zeros ? channel : 0];
    for (int64_t tap = 0; tap < job->taps; tap++) {
        ret_factors[tap] = byte_at(job->filter, channel * job->taps + tap) - zero;
    }
}

typedef struct DepthwiseRoom {
    int32_t *factors;
    int32_t *sums;
    int16_t *channel;
} DepthwiseRoom;

/* A row sums whole vectors: the next row overwrites the sums behind its end. */
static void
convolve_plane(
    const Job *job, const ByteDepthwise *depthwise, const DepthwiseRoom *room, int64_t batch, int64_t channel)
{
    int64_t width = depthwise->columns.output;
    int64_t step = rows_at_once(depthwise);
    for (int64_t first = 0; first < depthwise->rows.output; first += step) {
        int64_t left = depthwise->rows.output - first;
        int64_t rows = left < step ? left : step;
        for (int64_t row = 0; row < rows; row++) {
            byte_depthwise_row(
                depthwise, room->channel, room->factors, first + row, room->sums + row * width);
        }
        write_sums(job, batch, channel, first * width, rows * width, room->sums);
    }
}

/* Computes some channels of the output, by filters of one channel in one or two dimensions. */
static void
run_depthwise_lane(void *context, int64_t lane)
{
    const Job *job = context;
    ByteDepthwise depthwise = depthwise_of(job);
    int64_t channels = job->channels;
    int64_t total = job->input->shape.dims[0] * channels;
    int64_t plane_size = depthwise.rows.input * depthwise.columns.input;
    DepthwiseRoom room;
    room.factors = (int32_t *)(void *)((char *)job->scratch.data + lane * depthwise_room(job, &depthwise));
    room.sums = room.factors + job->taps;
    room.channel = (int16_t *)(room.sums + sums_size(&depthwise));
    for (int64_t item = total * lane / job->lanes; item < total * (lane + 1) / job->lanes; item++) {
        int64_t batch = item / channels;
        int64_t channel = item % channels;
        int64_t input = batch * job->convolution.groups + channel / job->convolution.outputs;
        const uint8_t *plane = (const uint8_t *)job->input->data + input * plane_size;
        read_factors(job, channel, room.factors);
        byte_depthwise_widen(&depthwise, plane, room.channel);
        convolve_plane(job, &depthwise, &room, batch, channel);
    }
}

static Status
run_depthwise(Job *job)
{
    KernelContext *context = job->context;
    ByteDepthwise depthwise = depthwise_of(job);
    int64_t channels = job->input->shape.dims[0] * job->channels;
    job->lanes = channels < LANES_MAX ? channels : LANES_MAX;
    TRY(scratch_bytes(context, job->lanes, (size_t)depthwise_room(job, &depthwise), &job->scratch));
    context->device->parallel_for(context->device, job->lanes, run_depthwise_lane, job);
    return STATUS_OK;
}

static bool
is_given(const KernelContext *context, uint32_t input)
{
    return input < context->input_count && context->inputs[input].dtype != DTYPE_INVALID;
}

/* Reads the zero points: one of the image, and one of all filters or of each. */
static Status
read_zeros(const IntegerOp *op, Job *job)
{
    KernelContext *context = job->context;
    Lines lines = {.size = 1};
    if (is_given(context, op->x_zero)) {
        if (tensor_element_count(&context->inputs[op->x_zero]) != 1) {
            return call_fail(context->call, STATUS_INVALID_ARGUMENT, "%lld zero points for 1",
                (long long)tensor_element_count(&context->inputs[op->x_zero]));
        }
        job->x_zero = byte_at(&context->inputs[op->x_zero], 0);
    }
    if (is_given(context, op->w_zero)) {
        TRY(scaling_zero_lines(context, op->filter, op->w_zero, job->filter->shape.rank, &lines));
    }
    TRY(scratch_array(context, lines.size, sizeof(int32_t), &job->filter_zeros));
    for (int64_t n = 0; is_given(context, op->w_zero) && n < lines.size; n++) {
        ((int32_t *)job->filter_zeros.data)[n] = byte_at(&context->inputs[op->w_zero], n);
    }
    job->has_filter_zeros = lines.size > 1;
    return STATUS_OK;
}

static ByteFilterShape
filter_shape(const Job *job)
{
    return (ByteFilterShape){.groups = job->convolution.groups,
        .inputs = job->convolution.inputs,
        .outputs = job->convolution.outputs,
        .taps = job->taps};
}

/* The arrays of lanes of a convolution, and its filter where it is no constant. */
typedef struct Lanes {
    Tensor start;
    Tensor zeros;
    Tensor scales;
    Tensor panels;
    Tensor sums;
    bool has_zeros; /* that are not 0 */
} Lanes;

static void
lanes_done(Lanes *lanes)
{
    tensor_unref(&lanes->start);
    tensor_unref(&lanes->zeros);
    tensor_unref(&lanes->scales);
    tensor_unref(&lanes->panels);
    tensor_unref(&lanes->sums);
}
#define AUTO_LANES CLEANUP(lanes_done) Lanes

/* Zero points as they are for bytes of which signed ones of the input were made unsigned, and unsigned ones
 * of the filter signed:
 *
 *     Σ (x - x0) (w - w0) = Σ x w - x0 (Σ w - depth w0) - w0 Σ x
 *
 * All but the first and the last term are known before, and are where sums start, with the bias. */
static void
fill_lane(const Job *job, int64_t channel, int64_t lane, int32_t sum, Lanes *lanes)
{
    enum { SIGN = 0x80 };
    uint32_t depth = (uint32_t)(job->taps * job->convolution.inputs);
    int32_t x_zero = job->x_zero + (job->input->dtype == DTYPE_INT8 ? SIGN : 0);
    int32_t own = ((const int32_t *)job->filter_zeros.data)[job->has_filter_zeros ? channel : 0];
    int32_t w_zero = own - (job->filter->dtype == DTYPE_INT8 ? 0 : SIGN);
    uint32_t bias = job->bias == NULL ? 0 : (uint32_t)job->bias[channel];
    uint32_t known = (uint32_t)x_zero * ((uint32_t)sum - depth * (uint32_t)w_zero);
    ((int32_t *)lanes->start.data)[lane] = (int32_t)(bias - known);
    ((int32_t *)lanes->zeros.data)[lane] = w_zero;
    lanes->has_zeros = lanes->has_zeros || w_zero != 0;
    if (job->scales != NULL) {
        ((float *)lanes->scales.data)[lane] = job->scales[channel];
    }
}

static Status
fill_lanes(const Job *job, const ByteFilterShape *shape, const int32_t *sums, Lanes *lanes)
{
    int64_t width = byte_filter_lanes(shape);
    TRY(scratch_array(job->context, shape->groups * width, sizeof(int32_t), &lanes->start));
    TRY(scratch_array(job->context, shape->groups * width, sizeof(int32_t), &lanes->zeros));
    TRY(scratch_array(job->context, shape->groups * width, sizeof(float), &lanes->scales));
    for (int64_t channel = 0; channel < job->channels; channel++) {
        int64_t lane = channel / shape->outputs * width + channel % shape->outputs;
        fill_lane(job, channel, lane, sums[lane], lanes);
    }
    return STATUS_OK;
}

/* Packs a filter that is no constant. */
static Status
pack_filter(const Job *job, const ByteFilterShape *shape, Lanes *lanes, PackedFilter *ret_packed)
{
    const PackedFilter *packed = job->context->state;
    if (packed->panels != NULL) {
        *ret_packed = *packed;
        return STATUS_OK;
    }
    TRY(scratch_bytes(job->context, shape->groups, (size_t)byte_filter_size(shape), &lanes->panels));
    TRY(scratch_bytes(job->context, shape->groups * byte_filter_lanes(shape), sizeof(int32_t), &lanes->sums));
    byte_filter_pack(
        shape, job->filter->data, job->filter->dtype == DTYPE_INT8, lanes->panels.data, lanes->sums.data);
    *ret_packed = (PackedFilter){lanes->panels.data, lanes->sums.data};
    return STATUS_OK;
}

static Status
run_channels(const Job *job)
{
    enum { SIGN = 0x80 };
    AUTO_LANES lanes = {0};
    PackedFilter packed = {0};
    bool is_signed = job->input->dtype == DTYPE_INT8;
    ByteConvolve convolve = {.image = job->image,
        .shape = filter_shape(job),
        .batch = job->input->shape.dims[0],
        .positions = job->positions,
        .input = job->input,
        .to = job->to,
        .output = job->sums != NULL ? (void *)job->sums : job->output};
    TRY(pack_filter(job, &convolve.shape, &lanes, &packed));
    TRY(fill_lanes(job, &convolve.shape, packed.sums, &lanes));
    convolve.image.is_signed = is_signed;
    convolve.image.padding = (uint8_t)(job->x_zero + (is_signed ? SIGN : 0));
    convolve.panels = packed.panels;
    convolve.start = lanes.start.data;
    convolve.zeros = lanes.has_zeros ? lanes.zeros.data : NULL;
    convolve.scales = job->scales == NULL ? NULL : lanes.scales.data;
    return byte_convolve_run(job->context, &convolve);
}

static Status
run_job(Job *job)
{
    return job->is_depthwise ? run_depthwise(job) : run_channels(job);
}

/* Chooses the loops; returns false for an image that its padding makes too large. */
static bool
choose_loops(Job *job)
{
    ByteExtent axes[BYTE_IMAGE_RANK] = {ONE_ROW, ONE_ROW, ONE_ROW, ONE_ROW};
    ByteFilterShape shape = filter_shape(job);
    int rank = job->convolution.window.rank;
    for (int axis = 0; axis < rank; axis++) {
        axes[BYTE_IMAGE_RANK - rank + axis] = extent_of(job, axis);
    }
    if (has_few_outputs(&shape) && rank <= 2) {
        ByteDepthwise depthwise = depthwise_of(job);
        job->is_depthwise = byte_depthwise_fits(&depthwise);
    }
    return job->is_depthwise || byte_image_init(&job->image, axes, shape.inputs, shape.groups);
}

/* Reads the node. *ret_is_plain tells whether it is for the loops here: something must be to be summed. */
static Status
read_job(KernelContext *context, const IntegerOp *op, Job *job, bool *ret_is_plain)
{
    KernelInference inference;
    kernel_inference(context, NULL, &inference);
    TRY(convolution_onnx_integer(context->call, &inference.context, &job->convolution));
    job->context = context;
    job->input = &context->inputs[0];
    job->filter = &context->inputs[op->filter];
    job->channels = job->convolution.output.dims[1];
    job->taps = 1;
    job->positions = 1;
    for (int index = 0; index < job->convolution.window.rank; index++) {
        job->taps *= job->convolution.window.size[index];
        job->positions *= job->convolution.window.output[index];
    }
    int64_t count = 0;
    *ret_is_plain = shape_element_count(&job->convolution.output, &count) && count > 0 &&
                    tensor_element_count(job->input) > 0 && tensor_element_count(job->filter) > 0 &&
                    choose_loops(job);
    return *ret_is_plain ? read_zeros(op, job) : STATUS_OK;
}

static Status
conv_integer_compute(KernelContext *context)
{
    AUTO_JOB job = {0};
    bool is_plain = false;
    Tensor *output = NULL;
    TRY(read_job(context, &CONV_INTEGER, &job, &is_plain));
    if (!is_plain) {
        return kernel_find_reference(context->node)->compute(context);
    }
    TRY(kernel_output(context, 0, DTYPE_INT32, &job.convolution.output, &output));
    job.sums = output->data;
    return run_job(&job);
}

static Status
qlinear_conv_compute(KernelContext *context)
{
    AUTO_JOB job = {0};
    AUTO_TENSOR scales = {0};
    bool is_plain = false;
    Tensor *output = NULL;
    TRY(read_job(context, &QLINEAR_CONV, &job, &is_plain));
    if (!is_plain) {
        return kernel_find_reference(context->node)->compute(context);
    }
    TRY(scaling_product(context, job.channels, &scales, &job.to));
    TRY(kernel_output(context, 0, job.to.dtype, &job.convolution.output, &output));
    job.output = output->data;
    job.scales = scales.data;
    job.bias = is_given(context, 8) ? context->inputs[8].data : NULL;
    return run_job(&job);
}

static bool
conv_integer_supports(const Node *node)
{
    return byte_product_has(node->input_dtypes[0]) && byte_product_has(node->input_dtypes[1]);
}

static bool
qlinear_conv_supports(const Node *node)
{
    return byte_product_has(node->input_dtypes[0]) && byte_product_has(node->input_dtypes[3]) &&
           byte_product_has(node->output_dtypes[0]);
}

#define CONVOLUTION_KERNEL(name, function)                                                                   \
    {                                                                                                        \
        .op = (name), .supports = function##_supports, .create = create_filter, .destroy = destroy_filter,   \
        .prepare = prepare_##function, .compute = function##_compute                                         \
    }

static const Kernel integer_convolution_kernels[] = {
    CONVOLUTION_KERNEL("onnx::ConvInteger", conv_integer),
    CONVOLUTION_KERNEL("onnx::QLinearConv", qlinear_conv),
};

KERNEL_FAMILY(cpu_kernels, integer_convolution, integer_convolution_kernels);
