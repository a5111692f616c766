/* ONNX's DFT and STFT, by the rules of the reference kernels (shared/ops/fourier), in double as there. */
#include "worker/cuda/kernels/fourier.h"

#include "shared/ops/fourier/rule.h"
#include "worker/cuda/errors.h"
#include "worker/cuda/lane.h"
#include "worker/cuda/operands/types.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

/* Squares of positions have 64 bits. */
static const int64_t LENGTH_MAX = (int64_t)1 << 30;

static bool
supports_floats(const Node *node)
{
    return dtype_is_floating(node->input_dtypes[0]);
}

/* Cuts a size into factors; returns false when it has a prime factor above 13. */
static bool
cut(int64_t size, CudaFourier *fourier)
{
    static const uint8_t primes[] = {4, 2, 3, 5, 7, 11, 13};
    fourier->factor_count = 0;
    for (size_t index = 0; index < COUNT_OF(primes); index++) {
        while (size % primes[index] == 0) {
            fourier->factors[fourier->factor_count++] = primes[index];
            size /= primes[index];
        }
    }
    return size == 1;
}

static void
plan(CudaFourier *fourier)
{
    fourier->size = fourier->length;
    fourier->is_convolution = !cut(fourier->length, fourier);
    if (fourier->is_convolution) {
        for (fourier->size = 1; fourier->size < 2 * fourier->length - 1; fourier->size *= 2) {}
        (void)cut(fourier->size, fourier);
    }
}

/* Makes `count` complex numbers. */
static Status
make_numbers(KernelContext *context, int64_t count, Tensor *memory, CudaNumber **ret_numbers)
{
    TRY(scratch_bytes(context, count, sizeof(CudaNumber), memory));
    *ret_numbers = memory->data;
    return STATUS_OK;
}

static Status
run_lines(KernelContext *context, CudaFourier *fourier)
{
    AUTO_TENSOR turns = {0};
    AUTO_TENSOR chirps = {0};
    AUTO_TENSOR first = {0};
    AUTO_TENSOR second = {0};
    int64_t numbers = 0;
    plan(fourier);
    if (__builtin_mul_overflow(fourier->lines + 1, fourier->size, &numbers)) {
        return call_fail_memory(context->call, "a Fourier transform");
    }
    TRY(make_numbers(context, fourier->size, &turns, &fourier->turns));
    TRY(make_numbers(context, fourier->is_convolution ? fourier->length : 0, &chirps, &fourier->chirps));
    numbers -= fourier->is_convolution ? 0 : fourier->size;
    TRY(make_numbers(context, numbers, &first, &fourier->rooms[0]));
    TRY(make_numbers(context, numbers, &second, &fourier->rooms[1]));
    CudaType type = cuda_type(context->inputs[0].dtype);
    return cuda_check(
        context->call, cuda_fourier(type, fourier, cuda_stream(context)), "a Fourier transform");
}

/* Makes the output, and runs lines that lie as `fourier` says. */
static Status
run_fourier(KernelContext *context, const Fourier *read, CudaFourier *fourier)
{
    Tensor *output = NULL;
    TRY(kernel_output(context, 0, context->node->output_dtypes[0], &read->output, &output));
    if (output->data == NULL) {
        return STATUS_OK;
    }
    if (read->length > LENGTH_MAX) {
        return call_fail_memory(context->call, "a Fourier transform");
    }
    fourier->input = context->inputs[0].data;
    fourier->output = output->data;
    fourier->length = read->length;
    fourier->bins = read->bins;
    fourier->is_inverse = read->is_inverse;
    fourier->is_mirrored = read->is_inverse && read->is_onesided;
    fourier->from.count = fourier->from.count < read->length ? fourier->from.count : read->length;
    fourier->from.count =
        fourier->is_mirrored && read->bins < fourier->from.count ? read->bins : fourier->from.count;
    return run_lines(context, fourier);
}

/* Returns how many parts the numbers of a tensor have, which are its last dimension. */
static int64_t
parts_of(const Shape *shape)
{
    return shape->dims[shape->rank - 1];
}

static Status
compute_dft(KernelContext *context)
{
    KernelInference inference;
    Fourier read;
    kernel_inference(context, NULL, &inference);
    TRY(dft_read(context->call, &inference.context, &read));
    const Shape *shape = &context->inputs[0].shape;
    Lines lines = lines_along(shape, read.axis);
    int64_t from = parts_of(shape);
    int64_t to = parts_of(&read.output);
    int64_t inner = from == 0 ? 0 : lines.inner / from; /* lines side by side */
    int64_t count = read.output.dims[read.axis];
    CudaFourier fourier = {
        .lines = lines.outer * inner,
        .from = {inner, lines.size * inner * from, from, inner * from, lines.size, from == 2},
        .to = {inner, count * inner * to, to, inner * to, count, to == 2},
    };
    return run_fourier(context, &read, &fourier);
}

static Status
compute_stft(KernelContext *context)
{
    KernelInference inference;
    Fourier read;
    kernel_inference(context, NULL, &inference);
    TRY(stft_read(context->call, &inference.context, &read));
    const Shape *shape = &context->inputs[0].shape;
    int64_t from = parts_of(shape);
    int64_t frames = read.output.dims[1];
    int64_t spectrum = read.bins * 2;
    bool has_window = STFT_WINDOW < context->input_count;
    CudaFourier fourier = {
        .window = has_window ? context->inputs[STFT_WINDOW].data : NULL,
        .lines = shape->dims[0] * frames,
        .from = {frames, shape->dims[1] * from, read.step * from, from, read.length, from == 2},
        .to = {frames, frames * spectrum, spectrum, 2, read.bins, true},
    };
    return run_fourier(context, &read, &fourier);
}

static const Kernel fourier_kernels[] = {
    {.op = "onnx::DFT",
        .supports = supports_floats,
        .compute = compute_dft,
        .host_inputs = 1 << DFT_LENGTH | 1 << DFT_AXIS},
    {.op = "onnx::STFT",
        .supports = supports_floats,
        .compute = compute_stft,
        .host_inputs = 1 << STFT_STEP | 1 << STFT_LENGTH},
};

KERNEL_FAMILY(cuda_kernels, fourier, fourier_kernels);
