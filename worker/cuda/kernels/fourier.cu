/* A stage of the transform (Stockham) joins transforms of n / factor numbers to transforms of n, of all lines
 * at once, from one room to the other. A thread computes a number: it reads as many as the factor is. */
#include "worker/cuda/kernels/fourier.h"

#include <cmath>

#include "worker/cuda/kernels/index.cuh"

__device__ __forceinline__ CudaNumber
multiply(CudaNumber a, CudaNumber b)
{
    return {a.real * b.real - a.imaginary * b.imaginary, a.real * b.imaginary + a.imaginary * b.real};
}

__device__ __forceinline__ CudaNumber
conjugate(CudaNumber a)
{
    return {a.real, -a.imaginary};
}

/* Returns e^(-2πi·part/whole), for 0 ≤ part < whole. */
__device__ __forceinline__ CudaNumber
turn_of(int64_t part, int64_t whole)
{
    double angle = 6.283185307179586 * ((double)part / (double)whole);
    return {cos(angle), -sin(angle)};
}

static __global__ void
fourier_tables_kernel(const CudaFourier fourier)
{
    for (int64_t i = index_first(); i < fourier.size; i += index_step()) {
        fourier.turns[i] = turn_of(i, fourier.size);
        if (fourier.is_convolution && i < fourier.length) {
            fourier.chirps[i] = turn_of(i * i % (2 * fourier.length), 2 * fourier.length);
        }
    }
}

/* Returns number n of a line as it stands in the input, conjugated for an inverse transform. */
template <typename T>
__device__ __forceinline__ CudaNumber
read_number(const CudaFourier &fourier, int64_t line, int64_t n)
{
    const CudaStrand &from = fourier.from;
    if (n >= from.count) {
        return {0, 0};
    }
    int64_t at = line / from.split * from.outer + line % from.split * from.inner + n * from.stride;
    double weight = fourier.window == nullptr ? 1 : (double)load((const T *)fourier.window, n);
    double imaginary = from.is_complex ? (double)load((const T *)fourier.input, at + 1) : 0;
    return {(double)load((const T *)fourier.input, at) * weight,
        (fourier.is_inverse ? -imaginary : imaginary) * weight};
}

template <typename T>
__device__ __forceinline__ CudaNumber
number_of_line(const CudaFourier &fourier, int64_t line, int64_t n)
{
    if (n >= fourier.length) {
        return {0, 0};
    }
    bool is_mirror = fourier.is_mirrored && n >= fourier.bins;
    CudaNumber number = is_mirror ? conjugate(read_number<T>(fourier, line, fourier.length - n))
                                  : read_number<T>(fourier, line, n);
    return fourier.is_convolution ? multiply(number, fourier.chirps[n]) : number;
}

/* Returns number n of a convolution's other operand. */
__device__ __forceinline__ CudaNumber
number_of_mirror(const CudaFourier &fourier, int64_t n)
{
    int64_t at = n < fourier.length ? n : fourier.size - n;
    if (at >= fourier.length) {
        return {0, 0};
    }
    CudaNumber chirp = fourier.chirps[at];
    return {chirp.real / (double)fourier.size, -chirp.imaginary / (double)fourier.size};
}

template <typename T>
__global__ void
fourier_load_kernel(const CudaFourier fourier, int64_t count)
{
    for (int64_t i = index_first(); i < count; i += index_step()) {
        int64_t line = i / fourier.size;
        int64_t n = i - line * fourier.size;
        fourier.rooms[0][i] =
            line < fourier.lines ? number_of_line<T>(fourier, line, n) : number_of_mirror(fourier, n);
    }
}

typedef struct FourierStage {
    const CudaNumber *from;
    CudaNumber *to;
    int64_t factor;
    int64_t joined; /* numbers of the transforms that this stage makes */
    int64_t apart;  /* numbers between those of one of them */
} FourierStage;

static __global__ void
fourier_stage_kernel(const CudaNumber *turns, int64_t size, const FourierStage stage, int64_t count)
{
    int64_t parts = stage.joined / stage.factor;
    for (int64_t i = index_first(); i < count; i += index_step()) {
        int64_t line = i / size;
        int64_t place = i - line * size;
        int64_t group = place / stage.apart;
        int64_t p = group / stage.factor;
        int64_t k = group - p * stage.factor;
        const CudaNumber *first = stage.from + line * size + place % stage.apart + stage.apart * p;
        CudaNumber sum = first[0];
        int64_t turn = 0; /* j × k modulo the factor */
        for (int64_t j = 1; j < stage.factor; j++) {
            turn = turn + k < stage.factor ? turn + k : turn + k - stage.factor;
            CudaNumber turned = multiply(first[j * parts * stage.apart], turns[turn * (size / stage.factor)]);
            sum = {sum.real + turned.real, sum.imaginary + turned.imaginary};
        }
        stage.to[i] = multiply(sum, turns[p * k * (size / stage.joined)]);
    }
}

/* Makes the spectrum of a convolution's lines, conjugated, so that the next transform is its inverse. */
static __global__ void
fourier_convolve_kernel(CudaNumber *numbers, int64_t size, int64_t count)
{
    for (int64_t i = index_first(); i < count; i += index_step()) {
        numbers[i] = conjugate(multiply(numbers[i], numbers[count + i % size]));
    }
}

template <typename T>
__global__ void
fourier_store_kernel(const CudaFourier fourier, const CudaNumber *numbers, int64_t count)
{
    const CudaStrand &to = fourier.to;
    double divisor = fourier.is_inverse ? (double)fourier.length : 1;
    for (int64_t i = index_first(); i < count; i += index_step()) {
        int64_t line = i / to.count;
        int64_t k = i - line * to.count;
        CudaNumber number = numbers[line * fourier.size + k];
        number = fourier.is_convolution ? multiply(conjugate(number), fourier.chirps[k]) : number;
        number = fourier.is_inverse ? conjugate(number) : number;
        int64_t at = line / to.split * to.outer + line % to.split * to.inner + k * to.stride;
        store((T *)fourier.output, at, (Accumulator<T>)(number.real / divisor));
        if (to.is_complex) {
            store((T *)fourier.output, at + 1, (Accumulator<T>)(number.imaginary / divisor));
        }
    }
}

/* Transforms the first `count` numbers of the room that `ret_room` names, and names that of the result. */
static cudaError_t
run_stages(const CudaFourier *fourier, int64_t count, int *ret_room, cudaStream_t stream)
{
    FourierStage stage = {nullptr, nullptr, 0, fourier->size, 1};
    for (int n = 0; n < fourier->factor_count; n++) {
        stage.from = fourier->rooms[*ret_room];
        stage.to = fourier->rooms[1 - *ret_room];
        stage.factor = fourier->factors[n];
        cudaError_t error = cuda_launch(fourier_stage_kernel, index_grid(count), dim3(INDEX_THREADS), 0,
            stream, fourier->turns, fourier->size, stage, count);
        if (error != cudaSuccess) {
            return error;
        }
        stage.joined /= stage.factor;
        stage.apart *= stage.factor;
        *ret_room = 1 - *ret_room;
    }
    return cudaSuccess;
}

static cudaError_t
transform(const CudaFourier *fourier, int *ret_room, cudaStream_t stream)
{
    int64_t count = fourier->lines * fourier->size;
    if (!fourier->is_convolution) {
        return run_stages(fourier, count, ret_room, stream);
    }
    cudaError_t error = run_stages(fourier, count + fourier->size, ret_room, stream);
    error = error != cudaSuccess
                ? error
                : cuda_launch(fourier_convolve_kernel, index_grid(count), dim3(INDEX_THREADS), 0, stream,
                      fourier->rooms[*ret_room], fourier->size, count);
    return error != cudaSuccess ? error : run_stages(fourier, count, ret_room, stream);
}

template <typename T>
static cudaError_t
run(const CudaFourier *fourier, cudaStream_t stream)
{
    int room = 0;
    int64_t written = fourier->lines * fourier->to.count;
    int64_t loaded = (fourier->lines + (fourier->is_convolution ? 1 : 0)) * fourier->size;
    if (written == 0) {
        return cudaSuccess;
    }
    cudaError_t error = cuda_launch(
        fourier_tables_kernel, index_grid(fourier->size), dim3(INDEX_THREADS), 0, stream, *fourier);
    error = error != cudaSuccess ? error
                                 : cuda_launch(fourier_load_kernel<T>, index_grid(loaded),
                                       dim3(INDEX_THREADS), 0, stream, *fourier, loaded);
    error = error != cudaSuccess ? error : transform(fourier, &room, stream);
    return error != cudaSuccess
               ? error
               : cuda_launch(fourier_store_kernel<T>, index_grid(written), dim3(INDEX_THREADS), 0, stream,
                     *fourier, (const CudaNumber *)fourier->rooms[room], written);
}

extern "C" int
cuda_fourier(CudaType type, const CudaFourier *fourier, cudaStream_t stream)
{
    EACH_FLOATING_TYPE(type, run<T>(fourier, stream));
}
