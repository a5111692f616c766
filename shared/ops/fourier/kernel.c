/* ONNX's DFT and STFT, in double. Lines and frames are shared among the device's threads. */
#include <assert.h>

#include "shared/ops/fourier/rule.h"
#include "shared/ops/fourier/transform.h"
#include "worker/reference/doubles.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

enum { BLOCKS_MAX = 32 }; /* that the lines are cut into, each with a room of its own */

/* Numbers along an axis. */
typedef struct Strand {
    int64_t count;
    int64_t stride; /* doubles from one number to the next */
    bool is_complex;
} Strand;

typedef struct Work Work;
struct Work {
    Fourier fourier;
    Transform transform;
    void (*run_line)(const Work *work, int64_t line, Complex *room);
    const double *input;
    const double *window; /* NULL: none */
    double *output;
    Lines lines; /* of the input, in numbers */
    Strand from; /* of a transform */
    Strand to;
    int64_t line_count; /* transforms */
    int64_t block;      /* transforms of a block */
    Complex *room;
    int64_t room_size; /* numbers, of one block */
};

/* Reads numbers, conjugated for an inverse transform. Of one side of a spectrum, the other is the mirror. */
static void
read_line(const Work *work, const double *from, Complex *to)
{
    const Fourier *fourier = &work->fourier;
    bool is_mirrored = fourier->is_inverse && fourier->is_onesided;
    int64_t wanted = is_mirrored ? fourier->bins : fourier->length;
    memset(to, 0, (size_t)fourier->length * sizeof *to);
    for (int64_t n = 0; n < wanted && n < work->from.count; n++) {
        const double *number = from + n * work->from.stride;
        double weight = work->window == NULL ? 1 : work->window[n];
        double imaginary = work->from.is_complex ? number[1] : 0;
        to[n] = (Complex){number[0] * weight, (fourier->is_inverse ? -imaginary : imaginary) * weight};
    }
    for (int64_t n = fourier->bins; is_mirrored && n < fourier->length; n++) {
        Complex mirror = to[fourier->length - n];
        to[n] = (Complex){mirror.real, -mirror.imaginary};
    }
}

static void
write_line(const Work *work, const Complex *from, double *to)
{
    double divisor = work->fourier.is_inverse ? (double)work->fourier.length : 1;
    double sign = work->fourier.is_inverse ? -1 : 1;
    for (int64_t k = 0; k < work->to.count; k++) {
        double *number = to + k * work->to.stride;
        number[0] = from[k].real / divisor;
        if (work->to.is_complex) {
            number[1] = sign * from[k].imaginary / divisor;
        }
    }
}

static void
transform_line(const Work *work, const double *from, double *to, Complex *room)
{
    Complex *spectrum = room + work->fourier.length;
    read_line(work, from, room);
    transform_run(&work->transform, room, spectrum, spectrum + work->fourier.length);
    write_line(work, spectrum, to);
}

static void
run_line_of_axis(const Work *work, int64_t line, Complex *room)
{
    int64_t outer = line / work->lines.inner;
    int64_t inner = line % work->lines.inner;
    const double *from = work->input + outer * work->lines.size * work->from.stride;
    double *to = work->output + outer * work->to.count * work->to.stride;
    transform_line(work, from + inner * (work->from.is_complex ? 2 : 1),
        to + inner * (work->to.is_complex ? 2 : 1), room);
}

static void
run_frame(const Work *work, int64_t line, Complex *room)
{
    int64_t frames = work->fourier.output.dims[1];
    int64_t first = line / frames * work->lines.size + line % frames * work->fourier.step;
    transform_line(work, work->input + first * work->from.stride,
        work->output + line * work->to.count * work->to.stride, room);
}

static void
run_block(void *argument, int64_t block)
{
    const Work *work = argument;
    int64_t end = (block + 1) * work->block;
    for (int64_t line = block * work->block; line < end && line < work->line_count; line++) {
        work->run_line(work, line, work->room + block * work->room_size);
    }
}

/* Runs all transforms, with room for two lines and the transform's own in each block. */
static Status
run_all(KernelContext *context, Work *work)
{
    AUTO_TENSOR room = {0};
    if (work->line_count == 0) {
        return STATUS_OK;
    }
    TRY(transform_new(context, work->fourier.length, &work->transform));
    work->block = (work->line_count + BLOCKS_MAX - 1) / BLOCKS_MAX;
    work->room_size = 2 * work->fourier.length + work->transform.room_size;
    int64_t blocks = (work->line_count + work->block - 1) / work->block;
    TRY(scratch_bytes(context, blocks * work->room_size, sizeof(Complex), &room));
    work->room = room.data;
    context->device->parallel_for(context->device, blocks, run_block, work);
    return STATUS_OK;
}

static Status
run_doubles(KernelContext *context, Work *work)
{
    AUTO_DOUBLES doubles = {0};
    TRY(doubles_begin(context, &doubles));
    const Tensor *input = &doubles.inputs[0];
    work->input = input->data;
    work->output = doubles_out(&doubles, 0);
    work->window = work->run_line == run_frame ? doubles_in(&doubles, STFT_WINDOW) : NULL;
    Status status = run_all(context, work);
    transform_done(&work->transform);
    return status == STATUS_OK ? doubles_finish(context, &doubles) : status;
}

/* Tells how the numbers lie in input and output, which have the parts of a number in their last dimension. */
static void
lay_out(const KernelContext *context, Work *work)
{
    const Fourier *fourier = &work->fourier;
    const Shape *input = &context->inputs[0].shape;
    const Shape *output = &fourier->output;
    int64_t parts = input->dims[input->rank - 1];
    int64_t written = output->dims[output->rank - 1];
    Lines lines = lines_along(input, fourier->axis);
    lines.inner = 1;
    for (int index = fourier->axis + 1; index < input->rank - 1; index++) {
        lines.inner *= input->dims[index];
    }
    work->lines = lines;
    work->from = (Strand){.count = lines.size, .stride = lines.inner * parts, .is_complex = parts == 2};
    work->to = (Strand){.stride = lines.inner * written, .is_complex = written == 2};
}

static Status
dft_compute(KernelContext *context)
{
    KernelInference inference;
    Work work = {.run_line = run_line_of_axis};
    kernel_inference(context, NULL, &inference);
    TRY(dft_read(context->call, &inference.context, &work.fourier));
    lay_out(context, &work);
    work.to.count = work.fourier.output.dims[work.fourier.axis];
    work.line_count = work.lines.outer * work.lines.inner;
    return run_doubles(context, &work);
}

static Status
stft_compute(KernelContext *context)
{
    KernelInference inference;
    Work work = {.run_line = run_frame};
    kernel_inference(context, NULL, &inference);
    TRY(stft_read(context->call, &inference.context, &work.fourier));
    lay_out(context, &work);
    work.from.count = work.fourier.length;
    work.to.count = work.fourier.bins;
    work.line_count = work.lines.outer * work.fourier.output.dims[1];
    return run_doubles(context, &work);
}

static bool
supports_floats(const Node *node)
{
    return dtype_is_floating(node->input_dtypes[0]);
}

static const Kernel fourier_kernels[] = {
    {.op = "onnx::DFT",
        .supports = supports_floats,
        .compute = dft_compute,
        .host_inputs = 1 << DFT_LENGTH | 1 << DFT_AXIS,
        DOUBLES_SCRATCH},
    {.op = "onnx::STFT",
        .supports = supports_floats,
        .compute = stft_compute,
        .host_inputs = 1 << STFT_STEP | 1 << STFT_LENGTH,
        DOUBLES_SCRATCH},
};

KERNEL_FAMILY(reference, fourier, fourier_kernels);
