/* TensorFlow's Fourier transforms, in double. An inverse transform is the conjugate of the transform of the
 * conjugate, divided by the number of its elements. Of a real signal's spectrum half the last dimension is
 * told: it is written last when the spectrum is read, and first when it is made. */
#include "shared/base/clock.h"
#include "shared/ops/fourier/spectrum_rule.h"
#include "shared/ops/fourier/transform.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

/* Numbers [batch, planes, rows, columns]; the axes that are transformed are the last ones, others are in the
 * batch. */
typedef struct Block {
    int64_t batch;
    int64_t dims[SPECTRUM_AXES_MAX];
    Tensor numbers; /* complex128 */
} Block;

static void
block_done(Block *block)
{
    tensor_unref(&block->numbers);
}
#define AUTO_BLOCK CLEANUP(block_done) Block

static int64_t
block_size(const Block *block)
{
    return block->dims[0] * block->dims[1] * block->dims[2];
}

/* Folds a shape into a block's dimensions. */
static void
block_lay_out(Block *block, const Shape *shape, int axes)
{
    block->batch = 1;
    for (int axis = 0; axis < SPECTRUM_AXES_MAX; axis++) {
        int from = shape->rank - SPECTRUM_AXES_MAX + axis;
        block->dims[axis] = axis < SPECTRUM_AXES_MAX - axes ? 1 : shape->dims[from];
    }
    for (int axis = 0; axis < shape->rank - axes; axis++) {
        block->batch *= shape->dims[axis];
    }
}

static Status
block_new(KernelContext *context, Block *block)
{
    Shape shape = {.rank = 4, .dims = {block->batch, block->dims[0], block->dims[1], block->dims[2]}};
    return scratch_new(context, DTYPE_COMPLEX128, &shape, &block->numbers);
}

/* Copies the beginnings of all dimensions; conjugated when asked to. */
static void
copy_corner(const Block *from, const Block *to, bool conjugates)
{
    const Complex *source = from->numbers.data;
    Complex *target = to->numbers.data;
    int64_t rows = to->batch * to->dims[0] * to->dims[1];
    for (int64_t row = 0; row < rows; row++) {
        int64_t batch = row / to->dims[1] / to->dims[0];
        int64_t plane = row / to->dims[1] % to->dims[0];
        int64_t first = (batch * from->dims[0] + plane) * from->dims[1] + row % to->dims[1];
        for (int64_t column = 0; column < to->dims[2]; column++) {
            Complex number = source[first * from->dims[2] + column];
            number.imaginary = conjugates ? -number.imaginary : number.imaginary;
            target[row * to->dims[2] + column] = number;
        }
    }
}

/* A transform along one axis, and room for a line of it before and after. */
typedef struct AxisRun {
    Transform transform;
    Tensor room;
} AxisRun;

static void
axis_run_done(AxisRun *run)
{
    transform_done(&run->transform);
    tensor_unref(&run->room);
}
#define AUTO_AXIS_RUN CLEANUP(axis_run_done) AxisRun

static Status
axis_run_begin(KernelContext *context, int64_t length, AxisRun *run)
{
    TRY(transform_new(context, length, &run->transform));
    return scratch_bytes(context, 2 * length + run->transform.room_size, sizeof(Complex), &run->room);
}

/* Transforms the line that stands at the beginning of the room; returns where the result stands. */
static const Complex *
axis_run_line(const AxisRun *run)
{
    Complex *from = run->room.data;
    Complex *to = from + run->transform.length;
    transform_run(&run->transform, from, to, to + run->transform.length);
    return to;
}

static Status
transform_axis(KernelContext *context, const Block *block, int axis)
{
    AUTO_AXIS_RUN run = {0};
    int64_t length = block->dims[axis];
    int64_t stride = axis == 0 ? block->dims[1] * block->dims[2] : axis == 1 ? block->dims[2] : 1;
    int64_t lines = block->batch * block_size(block) / length;
    TRY(axis_run_begin(context, length, &run));
    for (int64_t line = 0; line < lines; line++) {
        Complex *at = (Complex *)block->numbers.data + line / stride * stride * length + line % stride;
        Complex *from = run.room.data;
        TRY(call_check(context->call, clock_monotonic_ns()));
        for (int64_t n = 0; n < length; n++) {
            from[n] = at[n * stride];
        }
        const Complex *to = axis_run_line(&run);
        for (int64_t n = 0; n < length; n++) {
            at[n * stride] = to[n];
        }
    }
    return STATUS_OK;
}

/* Transforms the axes from `first` on, but for the last `kept` ones. */
static Status
transform_axes(KernelContext *context, const Block *block, int axes, int kept)
{
    for (int axis = SPECTRUM_AXES_MAX - axes; axis < SPECTRUM_AXES_MAX - kept; axis++) {
        if (block->dims[axis] > 1) {
            TRY(transform_axis(context, block, axis));
        }
    }
    return STATUS_OK;
}

/* Writes the first half of the spectrum of each row. */
static Status
transform_real_rows(KernelContext *context, const Block *signal, const Block *spectrum)
{
    AUTO_AXIS_RUN run = {0};
    int64_t length = signal->dims[2];
    int64_t half = spectrum->dims[2];
    TRY(axis_run_begin(context, length, &run));
    for (int64_t row = 0; row < signal->batch * signal->dims[0] * signal->dims[1]; row++) {
        TRY(call_check(context->call, clock_monotonic_ns()));
        memcpy(run.room.data, (const Complex *)signal->numbers.data + row * length,
            (size_t)length * sizeof(Complex));
        memcpy((Complex *)spectrum->numbers.data + row * half, axis_run_line(&run),
            (size_t)half * sizeof(Complex));
    }
    return STATUS_OK;
}

/* Writes the real signal of each row, of whose spectrum the second half mirrors the first. */
static Status
restore_real_rows(
    KernelContext *context, const Block *spectrum, int64_t length, double divisor, double *signal)
{
    AUTO_AXIS_RUN run = {0};
    int64_t half = spectrum->dims[2];
    TRY(axis_run_begin(context, length, &run));
    for (int64_t row = 0; row < spectrum->batch * spectrum->dims[0] * spectrum->dims[1]; row++) {
        Complex *from = run.room.data;
        TRY(call_check(context->call, clock_monotonic_ns()));
        memcpy(from, (const Complex *)spectrum->numbers.data + row * half, (size_t)half * sizeof *from);
        for (int64_t n = half; n < length; n++) {
            from[n] = (Complex){from[length - n].real, -from[length - n].imaginary};
        }
        const Complex *to = axis_run_line(&run);
        for (int64_t n = 0; n < length; n++) {
            signal[row * length + n] = to[n].real / divisor;
        }
    }
    return STATUS_OK;
}

static double
transform_size(const Spectrum *spectrum)
{
    double size = 1;
    for (int axis = 0; axis < spectrum->axes; axis++) {
        size *= (double)spectrum->lengths[axis];
    }
    return size;
}

static void
undo_conjugate(const Block *block, double divisor)
{
    Complex *numbers = block->numbers.data;
    for (int64_t n = 0; n < block->batch * block_size(block); n++) {
        numbers[n] = (Complex){numbers[n].real / divisor, -numbers[n].imaginary / divisor};
    }
}

/* Makes the output from a tensor of wide numbers of the same count. */
static Status
finish_as(KernelContext *context, const Tensor *numbers, const Shape *shape)
{
    Tensor view = *numbers;
    view.shape = *shape;
    return scratch_finish(context, 0, &view);
}

static Status
run_complex(KernelContext *context, const Spectrum *spectrum, const Block *input)
{
    AUTO_BLOCK block = {.batch = input->batch};
    memcpy(block.dims, input->dims, sizeof block.dims);
    TRY(block_new(context, &block));
    copy_corner(input, &block, spectrum->is_inverse);
    TRY(transform_axes(context, &block, spectrum->axes, 0));
    if (spectrum->is_inverse) {
        undo_conjugate(&block, transform_size(spectrum));
    }
    return finish_as(context, &block.numbers, &spectrum->output);
}

static Status
run_from_real(KernelContext *context, const Spectrum *spectrum, const Block *input)
{
    AUTO_BLOCK signal = {.batch = input->batch};
    AUTO_BLOCK half = {.batch = input->batch};
    block_lay_out(&half, &spectrum->output, spectrum->axes);
    memcpy(signal.dims, half.dims, sizeof signal.dims);
    signal.dims[2] = spectrum->lengths[spectrum->axes - 1];
    signal.batch = half.batch;
    TRY(block_new(context, &signal));
    TRY(block_new(context, &half));
    copy_corner(input, &signal, false);
    TRY(transform_real_rows(context, &signal, &half));
    TRY(transform_axes(context, &half, spectrum->axes, 1));
    return finish_as(context, &half.numbers, &spectrum->output);
}

static Status
run_to_real(KernelContext *context, const Spectrum *spectrum, const Block *input)
{
    AUTO_BLOCK half = {.batch = input->batch};
    AUTO_TENSOR signal = {0};
    int64_t length = spectrum->lengths[spectrum->axes - 1];
    block_lay_out(&half, &spectrum->output, spectrum->axes);
    half.dims[2] = length / 2 + 1;
    TRY(block_new(context, &half));
    TRY(scratch_new(context, DTYPE_FLOAT64, &spectrum->output, &signal));
    copy_corner(input, &half, true);
    TRY(transform_axes(context, &half, spectrum->axes, 1));
    TRY(restore_real_rows(context, &half, length, transform_size(spectrum), signal.data));
    return scratch_finish(context, 0, &signal);
}

static Status
spectrum_compute(KernelContext *context)
{
    KernelInference inference;
    Spectrum spectrum;
    AUTO_BLOCK input = {0};
    int64_t count = 0;
    kernel_inference(context, NULL, &inference);
    TRY(spectrum_read(context->call, &inference.context, &spectrum));
    if (shape_element_count(&spectrum.output, &count) && count == 0) {
        Tensor *output = NULL;
        return kernel_output(context, 0, context->node->output_dtypes[0], &spectrum.output, &output);
    }
    TRY(scratch_cast(context, &context->inputs[0], DTYPE_COMPLEX128, &input.numbers));
    block_lay_out(&input, &context->inputs[0].shape, spectrum.axes);
    if (!spectrum.is_real) {
        return run_complex(context, &spectrum, &input);
    }
    return spectrum.is_inverse ? run_to_real(context, &spectrum, &input)
                               : run_from_real(context, &spectrum, &input);
}

static bool
spectrum_supports(const Node *node)
{
    Dtype from = node->input_dtypes[0];
    Dtype to = node->output_dtypes[0];
    bool is_signal = from == DTYPE_FLOAT32 || from == DTYPE_FLOAT64 || dtype_is_complex(from);
    return is_signal && (to == DTYPE_FLOAT32 || to == DTYPE_FLOAT64 || dtype_is_complex(to));
}

#define SPECTRUM(name)                                                                                       \
    {                                                                                                        \
        .op = (name), .supports = spectrum_supports, .compute = spectrum_compute                             \
    }

#define REAL_SPECTRUM(name)                                                                                  \
    {                                                                                                        \
        .op = (name), .supports = spectrum_supports, .compute = spectrum_compute, .host_inputs = 1 << 1      \
    }

static const Kernel spectrum_kernels[] = {
    SPECTRUM("FFT"),
    SPECTRUM("IFFT"),
    SPECTRUM("FFT2D"),
    SPECTRUM("IFFT2D"),
    SPECTRUM("FFT3D"),
    SPECTRUM("IFFT3D"),
    REAL_SPECTRUM("RFFT"),
    REAL_SPECTRUM("RFFT2D"),
    REAL_SPECTRUM("RFFT3D"),
    REAL_SPECTRUM("IRFFT"),
    REAL_SPECTRUM("IRFFT2D"),
    REAL_SPECTRUM("IRFFT3D"),
};

KERNEL_FAMILY(reference, fourier_spectrum, spectrum_kernels);
