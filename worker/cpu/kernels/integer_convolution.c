/* Convolutions of bytes: onnx::ConvInteger and onnx::QLinearConv. A tile is INTEGER_COLUMNS positions of the
 * output of one group: what its windows see is packed into a panel (the inner dimension is channels, and then
 * elements of the window), and all filters of the group are multiplied by it. Filters of one channel, for
 * which packing would cost more than it saves, are computed by convolve/byte_depthwise.h. */
#include "shared/ops/convolution.h"
#include "worker/cpu/convolve/byte_depthwise.h"
#include "worker/cpu/product/byte_product.h"
#include "worker/cpu/product/integer.h"
#include "worker/cpu/vector/scaled_sums.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scaling.h"
#include "worker/reference/sliding.h"

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
    Sliding sliding;
    int64_t taps; /* elements of the window */
    int64_t depth;
    int64_t positions; /* of the output in one channel */
    int64_t tiles;     /* of them */
    uint8_t x_zero;
    int32_t x_zero_point;
    bool has_filter_zeros;
    Tensor rows;
    Tensor row_sums;
    Tensor filter_zeros;
    Tensor scratch; /* of each lane: a panel and the offsets of its windows */
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
    tensor_unref(&job->rows);
    tensor_unref(&job->row_sums);
    tensor_unref(&job->filter_zeros);
    tensor_unref(&job->scratch);
}
#define AUTO_JOB CLEANUP(job_done) Job

enum { LANES_MAX = 32 };

/* Finds where the windows of a tile read the input: for each element of the window, an offset for each
 * position; -1 is padding. */
static void
find_offsets(const Job *job, int64_t tile, int64_t count, int32_t *ret_offsets)
{
    Walk position = sliding_outputs(&job->sliding);
    Walk element = sliding_window(&job->sliding, NULL);
    int64_t rest = tile * INTEGER_COLUMNS;
    for (int dimension = position.rank - 1; dimension >= 0; dimension--) {
        position.position[dimension] = rest % position.dims[dimension];
        rest /= position.dims[dimension];
    }
    for (int64_t n = 0; n < count; n++) {
        for (int64_t tap = 0; tap < job->taps; tap++) {
            ret_offsets[tap * INTEGER_COLUMNS + n] =
                (int32_t)sliding_offset(&job->sliding, &position, &element);
            (void)walk_next(&element);
        }
        (void)walk_next(&position);
    }
    for (int64_t tap = 0; tap < job->taps; tap++) {
        for (int64_t n = count; n < INTEGER_COLUMNS; n++) {
            ret_offsets[tap * INTEGER_COLUMNS + n] = -1;
        }
    }
}

/* Marks the elements of the window whose positions are neighbours in the input: they are copied at once. */
static void
mark_runs(const Job *job, const int32_t *offsets, bool *ret_runs)
{
    for (int64_t tap = 0; tap < job->taps; tap++) {
        const int32_t *line = offsets + tap * INTEGER_COLUMNS;
        int breaks = line[0] < 0 ? 1 : 0;
        for (int n = 1; n < INTEGER_COLUMNS; n++) {
            breaks |= line[n] == line[0] + n ? 0 : 1;
        }
        ret_runs[tap] = breaks == 0;
    }
}

static void
copy_line(const uint8_t *plane, const int32_t *offsets, bool is_run, uint8_t padding, uint8_t *to)
{
    if (is_run) {
        memcpy(to, plane + offsets[0], INTEGER_COLUMNS);
        return;
    }
    for (int n = 0; n < INTEGER_COLUMNS; n++) {
        to[n] = offsets[n] < 0 ? padding : plane[offsets[n]];
    }
}

/* Packs what the windows of a tile see of the channels of one group. */
static void
pack_windows(const Job *job, const uint8_t *channels, const int32_t *offsets, const bool *runs,
    uint8_t *ret_panel, int32_t *ret_sums)
{
    bool is_signed = job->input->dtype == DTYPE_INT8;
    uint8_t rows[INTEGER_GROUP_SIZE];
    int64_t channel = 0;
    int64_t tap = 0;
    memset(ret_sums, 0, INTEGER_COLUMNS * sizeof *ret_sums);
    for (int64_t group = 0; group < integer_groups(job->depth); group++) {
        for (int k = 0; k < INTEGER_GROUP; k++) {
            uint8_t *to = rows + (ptrdiff_t)k * INTEGER_COLUMNS;
            if (channel == job->convolution.inputs) {
                memset(to, is_signed ? 0x80 : 0, INTEGER_COLUMNS);
                continue;
            }
            copy_line(channels + channel * job->sliding.input.channel, offsets + tap * INTEGER_COLUMNS,
                runs[tap], job->x_zero, to);
            tap = tap + 1 == job->taps ? 0 : tap + 1;
            channel += tap == 0 ? 1 : 0;
        }
        integer_pack_group(rows, is_signed, ret_panel + group * INTEGER_GROUP_SIZE, ret_sums);
    }
}

/* Writes the sums of one channel of one image. */
static void
write_sums(const Job *job, int64_t batch, int64_t channel, int64_t position, int64_t count, int32_t *sums)
{
    int64_t offset = (batch * job->sliding.channels + channel) * job->positions + position;
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

static void
multiply_tile(const Job *job, int64_t batch, int64_t group, int64_t tile, const IntegerProduct *product)
{
    int64_t outputs = job->convolution.outputs;
    int64_t position = tile * INTEGER_COLUMNS;
    int64_t left = job->positions - position;
    int64_t count = left < INTEGER_COLUMNS ? left : INTEGER_COLUMNS;
    for (int64_t row = 0; row < outputs; row += INTEGER_ROWS_MAX) {
        int32_t sums[INTEGER_ROWS_MAX * INTEGER_COLUMNS];
        int rows = outputs - row < INTEGER_ROWS_MAX ? (int)(outputs - row) : INTEGER_ROWS_MAX;
        integer_multiply(product, row, rows, sums);
        for (int n = 0; n < rows; n++) {
            write_sums(job, batch, group * outputs + row + n, position, count,
                sums + (ptrdiff_t)n * INTEGER_COLUMNS);
        }
    }
}

static int64_t
offsets_size(const Job *job)
{
    return job->taps * (INTEGER_COLUMNS * (int64_t)sizeof(int32_t) + (int64_t)sizeof(bool));
}

/* Returns the bytes of a lane: lanes start at cache lines of their own. */
static int64_t
lane_size(const Job *job)
{
    enum { LINE = 64 };
    return (integer_panel_size(job->depth) + offsets_size(job) + LINE - 1) / LINE * LINE;
}

/* A lane takes every so many tiles, each for all batches and groups, so that offsets are computed once. */
static void
run_lane(void *context, int64_t lane)
{
    const Job *job = context;
    int32_t *offsets = (int32_t *)(void *)((char *)job->scratch.data + lane * lane_size(job));
    bool *runs = (bool *)(offsets + job->taps * INTEGER_COLUMNS);
    uint8_t *panel = (uint8_t *)(runs + job->taps);
    int64_t outputs = job->convolution.outputs;
    int64_t groups = job->convolution.groups;
    int64_t found = -1;
    int64_t total = job->tiles * job->sliding.batch * groups;
    for (int64_t item = total * lane / job->lanes; item < total * (lane + 1) / job->lanes; item++) {
        int64_t tile = item / (job->sliding.batch * groups);
        int64_t batch = item / groups % job->sliding.batch;
        int64_t group = item % groups;
        int32_t sums[INTEGER_COLUMNS];
        if (tile != found) {
            int64_t left = job->positions - tile * INTEGER_COLUMNS;
            find_offsets(job, tile, left < INTEGER_COLUMNS ? left : INTEGER_COLUMNS, offsets);
            mark_runs(job, offsets, runs);
            found = tile;
        }
        const uint8_t *channels = (const uint8_t *)job->input->data + batch * job->sliding.input.batch +
                                  group * job->convolution.inputs * job->sliding.input.channel;
        pack_windows(job, channels, offsets, runs, panel, sums);
        const int32_t *zeros = job->filter_zeros.data;
        IntegerProduct product = {
            .rows = (const int8_t *)job->rows.data + group * outputs * integer_row_size(job->depth),
            .row_sums = (const int32_t *)job->row_sums.data + group * outputs,
            .row_zeros = zeros + (job->has_filter_zeros ? group * outputs : 0),
            .panel = panel,
            .column_sums = sums,
            .column_zeros = &job->x_zero_point,
            .has_row_zeros = job->has_filter_zeros,
            .is_left_signed = job->filter->dtype == DTYPE_INT8,
            .is_right_signed = job->input->dtype == DTYPE_INT8,
            .depth = job->depth};
        multiply_tile(job, batch, group, tile, &product);
    }
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
    return (ByteExtent){.input = job->sliding.input_size[dimension],
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
        .zero_point = job->x_zero_point};
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

/* The same as run_lane() for filters of one channel in one or two dimensions. A lane has some channels. */
static void
run_depthwise_lane(void *context, int64_t lane)
{
    const Job *job = context;
    ByteDepthwise depthwise = depthwise_of(job);
    int64_t channels = job->sliding.channels;
    int64_t total = job->sliding.batch * channels;
    DepthwiseRoom room;
    room.factors = (int32_t *)(void *)((char *)job->scratch.data + lane * depthwise_room(job, &depthwise));
    room.sums = room.factors + job->taps;
    room.channel = (int16_t *)(room.sums + sums_size(&depthwise));
    for (int64_t item = total * lane / job->lanes; item < total * (lane + 1) / job->lanes; item++) {
        int64_t batch = item / channels;
        int64_t channel = item % channels;
        const uint8_t *plane = (const uint8_t *)job->input->data + batch * job->sliding.input.batch +
                               channel / job->convolution.outputs * job->sliding.input.channel;
        read_factors(job, channel, room.factors);
        byte_depthwise_widen(&depthwise, plane, room.channel);
        convolve_plane(job, &depthwise, &room, batch, channel);
    }
}

static bool
is_depthwise(const Job *job)
{
    if (job->convolution.inputs != 1 || job->convolution.window.rank > 2) {
        return false;
    }
    ByteDepthwise depthwise = depthwise_of(job);
    return byte_depthwise_fits(&depthwise);
}

static Status
run_depthwise(Job *job)
{
    KernelContext *context = job->context;
    ByteDepthwise depthwise = depthwise_of(job);
    int64_t channels = job->sliding.batch * job->sliding.channels;
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
        job->x_zero = *(const uint8_t *)context->inputs[op->x_zero].data;
        job->x_zero_point = byte_at(&context->inputs[op->x_zero], 0);
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

static Status
run_job(Job *job)
{
    KernelContext *context = job->context;
    int64_t filters = job->sliding.channels;
    int64_t items = job->tiles * job->sliding.batch * job->convolution.groups;
    job->lanes = items < LANES_MAX ? items : LANES_MAX;
    if (is_depthwise(job)) {
        return run_depthwise(job);
    }
    TRY(scratch_bytes(context, job->lanes, (size_t)lane_size(job), &job->scratch));
    TRY(scratch_bytes(context, filters, (size_t)integer_row_size(job->depth), &job->rows));
    TRY(scratch_bytes(context, filters, sizeof(int32_t), &job->row_sums));
    IntegerMatrix matrix = {.first = job->filter->data,
        .row_step = job->depth,
        .column_step = 1,
        .is_signed = job->filter->dtype == DTYPE_INT8};
    integer_pack_rows(&matrix, 0, filters, job->depth, job->rows.data, job->row_sums.data);
    context->device->parallel_for(context->device, job->lanes, run_lane, job);
    return STATUS_OK;
}

/* Reads the node. An image of one channel must have less than 2^31 elements, and something must be to be
 * summed; *ret_is_plain tells. */
static Status
read_job(KernelContext *context, const IntegerOp *op, Job *job, bool *ret_is_plain)
{
    KernelInference inference;
    kernel_inference(context, NULL, &inference);
    TRY(convolution_onnx_integer(context->call, &inference.context, &job->convolution));
    job->context = context;
    job->input = &context->inputs[0];
    job->filter = &context->inputs[op->filter];
    job->sliding = sliding_over(&job->convolution.window, &job->input->shape, &job->convolution.output);
    job->taps = 1;
    job->positions = 1;
    for (int index = 0; index < job->convolution.window.rank; index++) {
        job->taps *= job->convolution.window.size[index];
        job->positions *= job->convolution.window.output[index];
    }
    job->depth = job->taps * job->convolution.inputs;
    job->tiles = (job->positions + INTEGER_COLUMNS - 1) / INTEGER_COLUMNS;
    int64_t count = 0;
    *ret_is_plain = shape_element_count(&job->convolution.output, &count) && count > 0 && job->depth > 0 &&
                    job->sliding.input.channel < INT32_MAX;
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
    TRY(scaling_product(context, job.sliding.channels, &scales, &job.to));
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

static const Kernel integer_convolution_kernels[] = {
    {.op = "onnx::ConvInteger", .supports = conv_integer_supports, .compute = conv_integer_compute},
    {.op = "onnx::QLinearConv", .supports = qlinear_conv_supports, .compute = qlinear_conv_compute},
};

KERNEL_FAMILY(cpu_kernels, integer_convolution, integer_convolution_kernels);
