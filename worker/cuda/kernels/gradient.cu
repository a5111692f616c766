/* Both gather, so that no two threads add to one element: an element of the image visits all elements of the
 * window, under each of which it lies at one output position at most; an element of the filter visits all
 * output positions. */
#include "worker/cuda/kernels/gradient.h"

#include "worker/cuda/kernels/block.cuh"
#include "worker/cuda/kernels/index.cuh"

enum { FILTER_THREADS = 128 };

/* An element of the image: its place, and that in the gradient of the output of its batch and group. */
struct Pixel {
    int64_t place[CUDA_WINDOW_RANK_MAX];
    int64_t image;
    int64_t filter;
    int64_t output;
};

/* Neighbouring threads take neighbours in memory. */
__device__ __forceinline__ Pixel
pixel_of(const CudaConvolution &convolution, int64_t index, int64_t positions)
{
    const CudaWindow &window = convolution.window;
    int64_t channels = convolution.groups * convolution.inputs;
    bool is_channels_last = window.input.channel == 1;
    int64_t channel = is_channels_last ? index % channels : index / positions % channels;
    int64_t rest =
        is_channels_last ? index / channels : index / (positions * channels) * positions + index % positions;
    int64_t group = channel / convolution.inputs;
    Pixel pixel = {};
    for (int dimension = CUDA_WINDOW_RANK_MAX - 1; dimension >= 0; dimension--) {
        pixel.place[dimension] = rest % window.input_size[dimension];
        rest /= window.input_size[dimension];
        pixel.image += pixel.place[dimension] * window.input.space[dimension];
    }
    pixel.image += rest * window.input.batch + channel * window.input.channel;
    pixel.filter = group * convolution.filter_steps.group +
                   channel % convolution.inputs * convolution.filter_steps.input;
    pixel.output = rest * window.output.batch + group * convolution.outputs * window.output.channel;
    return pixel;
}

/* Moves to the output position from which an element of the window lies over the pixel; false: none. */
__device__ __forceinline__ bool
find_output(const CudaConvolution &convolution, int64_t element, Pixel *pixel)
{
    const CudaWindow &window = convolution.window;
    bool is_inside = true;
    for (int dimension = CUDA_WINDOW_RANK_MAX - 1; dimension >= 0; dimension--) {
        int64_t at = element % window.size[dimension];
        element /= window.size[dimension];
        int64_t start = pixel->place[dimension] + window.before[dimension] - at * window.dilation[dimension];
        int64_t output = start / window.stride[dimension];
        is_inside = is_inside && start >= 0 && output * window.stride[dimension] == start &&
                    output < window.output_size[dimension];
        pixel->filter += at * convolution.filter_steps.space[dimension];
        pixel->output += output * window.output.space[dimension];
    }
    return is_inside;
}

template <typename T>
__global__ void
to_image_kernel(
    const CudaConvolution convolution, T *image, int64_t count, int64_t positions, int64_t elements)
{
    using C = Accumulator<T>;
    const T *gradient = (const T *)convolution.output;
    const T *filter = (const T *)convolution.filter;
    for (int64_t index = index_first(); index < count; index += index_step()) {
        Pixel pixel = pixel_of(convolution, index, positions);
        C sum = 0;
        for (int64_t element = 0; element < elements; element++) {
            Pixel met = pixel;
            if (!find_output(convolution, element, &met)) {
                continue;
            }
            for (int64_t channel = 0; channel < convolution.outputs; channel++) {
                sum =
                    multiply_add((C)load(gradient, met.output + channel * convolution.window.output.channel),
                        (C)load(filter, met.filter + channel * convolution.filter_steps.output), sum);
            }
        }
        store(image, pixel.image, sum);
    }
}

/* An element of the filter: its place in the window, and its channels in the image and in the output. */
struct Weight {
    int64_t place[CUDA_WINDOW_RANK_MAX];
    int64_t image;
    int64_t filter;
    int64_t output;
};

__device__ __forceinline__ Weight
weight_of(const CudaConvolution &convolution, int64_t index)
{
    const CudaWindow &window = convolution.window;
    Weight weight = {};
    for (int dimension = CUDA_WINDOW_RANK_MAX - 1; dimension >= 0; dimension--) {
        int64_t at = index % window.size[dimension];
        index /= window.size[dimension];
        weight.place[dimension] = at * window.dilation[dimension] - window.before[dimension];
        weight.filter += at * convolution.filter_steps.space[dimension];
    }
    int64_t input = index % convolution.inputs;
    index /= convolution.inputs;
    int64_t output = index % convolution.outputs;
    int64_t group = index / convolution.outputs;
    weight.image = (group * convolution.inputs + input) * window.input.channel;
    weight.output = (group * convolution.outputs + output) * window.output.channel;
    weight.filter += group * convolution.filter_steps.group + input * convolution.filter_steps.input +
                     output * convolution.filter_steps.output;
    return weight;
}

/* Moves to an output position, and to the element of the image that lies under the weight there; false: that
 * is padding. */
__device__ __forceinline__ bool
find_input(const CudaConvolution &convolution, int64_t position, Weight *weight)
{
    const CudaWindow &window = convolution.window;
    bool is_inside = true;
    for (int dimension = CUDA_WINDOW_RANK_MAX - 1; dimension >= 0; dimension--) {
        int64_t at = position % window.output_size[dimension];
        position /= window.output_size[dimension];
        int64_t input = at * window.stride[dimension] + weight->place[dimension];
        is_inside = is_inside && input >= 0 && input < window.input_size[dimension];
        weight->image += input * window.input.space[dimension];
        weight->output += at * window.output.space[dimension];
    }
    weight->image += position * window.input.batch;
    weight->output += position * window.output.batch;
    return is_inside;
}

/* A block computes an element. */
template <typename T>
__global__ void
to_filter_kernel(const CudaConvolution convolution, T *filter, int64_t count, int64_t positions)
{
    using C = Accumulator<T>;
    const T *image = (const T *)convolution.input;
    const T *gradient = (const T *)convolution.output;
    for (int64_t index = blockIdx.x; index < count; index += gridDim.x) {
        Weight weight = weight_of(convolution, index);
        C sum = 0;
        for (int64_t position = threadIdx.x; position < positions; position += blockDim.x) {
            Weight met = weight;
            if (find_input(convolution, position, &met)) {
                sum = multiply_add((C)load(image, met.image), (C)load(gradient, met.output), sum);
            }
        }
        sum = block_join<BlockSum<C>>(sum);
        if (threadIdx.x == 0) {
            store(filter, weight.filter, sum);
        }
    }
}

static int64_t
multiply_all(const int64_t *sizes)
{
    int64_t product = 1;
    for (int dimension = 0; dimension < CUDA_WINDOW_RANK_MAX; dimension++) {
        product *= sizes[dimension];
    }
    return product;
}

template <typename T>
static cudaError_t
convolve_to_image(const CudaConvolution *convolution, void *image, cudaStream_t stream)
{
    const CudaWindow *window = &convolution->window;
    int64_t positions = multiply_all(window->input_size);
    int64_t count = window->batch * positions * convolution->groups * convolution->inputs;
    return count == 0 ? cudaSuccess
                      : cuda_launch(to_image_kernel<T>, index_grid(count), dim3(INDEX_THREADS), 0, stream,
                            *convolution, (T *)image, count, positions, multiply_all(window->size));
}

template <typename T>
static cudaError_t
convolve_to_filter(const CudaConvolution *convolution, void *filter, cudaStream_t stream)
{
    const CudaWindow *window = &convolution->window;
    int64_t positions = window->batch * multiply_all(window->output_size);
    int64_t count =
        convolution->groups * convolution->outputs * convolution->inputs * multiply_all(window->size);
    int64_t blocks = count < INDEX_BLOCKS_MAX ? count : INDEX_BLOCKS_MAX;
    return count == 0 ? cudaSuccess
                      : cuda_launch(to_filter_kernel<T>, dim3((unsigned)blocks), dim3(FILTER_THREADS), 0,
                            stream, *convolution, (T *)filter, count, positions);
}

extern "C" int
cuda_convolve_to_image(CudaType type, const CudaConvolution *convolution, void *image, cudaStream_t stream)
{
    EACH_FLOATING_TYPE(type, convolve_to_image<T>(convolution, image, stream));
}

extern "C" int
cuda_convolve_to_filter(CudaType type, const CudaConvolution *convolution, void *filter, cudaStream_t stream)
{
    EACH_FLOATING_TYPE(type, convolve_to_filter<T>(convolution, filter, stream));
}
