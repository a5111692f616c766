#include "worker/cuda/dnn/description.h"

#include <string.h>

enum { BATCH, CHANNEL, SPACE };
enum { ALIGNMENT_MAX = 16 }; /* of the widest load of a thread */

/* Returns the largest power of two that divides the address. */
static int64_t
alignment_of(const void *address)
{
    uintptr_t bits = (uintptr_t)address | ALIGNMENT_MAX;
    return (int64_t)(bits & (~bits + 1));
}

/* Returns the number of elements; -1: it is 0 or past 31 bits. */
static int64_t
count_elements(const DnnTensor *tensor, int rank)
{
    int64_t count = 1;
    for (int dimension = 0; dimension < rank; dimension++) {
        if (tensor->sizes[dimension] < 1 || tensor->sizes[dimension] > INT32_MAX / count) {
            return -1;
        }
        count *= tensor->sizes[dimension];
    }
    return count;
}

/* Fills in the steps of a dense tensor. */
static void
lay_out(DnnTensor *tensor, int rank, bool is_channels_last)
{
    int64_t step = 1;
    if (is_channels_last) {
        tensor->steps[CHANNEL] = step;
        step *= tensor->sizes[CHANNEL];
    }
    for (int dimension = rank - 1; dimension >= SPACE; dimension--) {
        tensor->steps[dimension] = step;
        step *= tensor->sizes[dimension];
    }
    if (!is_channels_last) {
        tensor->steps[CHANNEL] = step;
        step *= tensor->sizes[CHANNEL];
    }
    tensor->steps[BATCH] = step;
}

/* Returns whether elements lie as the tensor says; a step that is never taken may be anything. */
static bool
lies_as(const DnnTensor *tensor, int rank, const int64_t *steps)
{
    for (int dimension = 0; dimension < rank; dimension++) {
        if (tensor->sizes[dimension] != 1 && tensor->steps[dimension] != steps[dimension]) {
            return false;
        }
    }
    return true;
}

/* The steps of the three tensors in memory. */
typedef struct Lying {
    int64_t input[DNN_RANK_MAX];
    int64_t filter[DNN_RANK_MAX];
    int64_t output[DNN_RANK_MAX];
} Lying;

static void
read_dimension(
    const CudaConvolution *convolution, int from, int to, DnnDescription *description, Lying *lying)
{
    const CudaWindow *window = &convolution->window;
    description->stride[to] = window->stride[from];
    description->dilation[to] = window->dilation[from];
    description->before[to] = window->before[from];
    description->after[to] = window->after[from];
    description->input.sizes[SPACE + to] = window->input_size[from];
    description->filter.sizes[SPACE + to] = window->size[from];
    description->output.sizes[SPACE + to] = window->output_size[from];
    lying->input[SPACE + to] = window->input.space[from];
    lying->filter[SPACE + to] = convolution->filter_steps.space[from];
    lying->output[SPACE + to] = window->output.space[from];
}

/* Entries of a window past its rank are those of a dimension of size 1, which may as well be in front. */
static void
read_space(const CudaConvolution *convolution, DnnDescription *description, Lying *lying)
{
    int rank = convolution->window.rank;
    int first = (int)description->space_rank - rank;
    for (int to = 0; to < description->space_rank; to++) {
        read_dimension(convolution, to < first ? rank : to - first, to, description, lying);
    }
}

static void
read_channels(const CudaConvolution *convolution, DnnDescription *description, Lying *lying)
{
    const CudaWindow *window = &convolution->window;
    const CudaFilter *filter = &convolution->filter_steps;
    description->input.sizes[BATCH] = description->output.sizes[BATCH] = window->batch;
    description->input.sizes[CHANNEL] = convolution->groups * convolution->inputs;
    description->output.sizes[CHANNEL] = description->filter.sizes[BATCH] = window->channels;
    description->filter.sizes[CHANNEL] = convolution->inputs;
    lying->input[BATCH] = window->input.batch;
    lying->input[CHANNEL] = window->input.channel;
    lying->output[BATCH] = window->output.batch;
    lying->output[CHANNEL] = window->output.channel;
    lying->filter[BATCH] = convolution->outputs == 1 ? filter->group : filter->output;
    lying->filter[CHANNEL] = filter->input;
}

/* Chooses the layout in which the images lie. False: neither. */
static bool
find_layout(DnnDescription *description, const Lying *lying, int rank)
{
    for (int is_channels_last = 0; is_channels_last <= 1; is_channels_last++) {
        lay_out(&description->input, rank, is_channels_last != 0);
        lay_out(&description->filter, rank, is_channels_last != 0);
        lay_out(&description->output, rank, is_channels_last != 0);
        if (lies_as(&description->input, rank, lying->input) &&
            lies_as(&description->output, rank, lying->output)) {
            return true;
        }
    }
    return false;
}

static CudaMove
pack_filter(const DnnTensor *filter, int rank, const int64_t *steps, const void *data)
{
    CudaMove move = {.from = data, .rank = rank, .count = 1};
    for (int dimension = 0; dimension < rank; dimension++) {
        move.count *= filter->sizes[dimension];
        move.sizes[dimension] = filter->sizes[dimension];
        move.strides[0][dimension] = steps[dimension];
        move.strides[1][dimension] = filter->steps[dimension];
    }
    return move;
}

static bool
is_step_between_groups_common(const CudaConvolution *convolution)
{
    const CudaFilter *filter = &convolution->filter_steps;
    return convolution->groups == 1 || convolution->outputs == 1 ||
           filter->group == convolution->outputs * filter->output;
}

DnnRefusal
dnn_describe(DnnKind kind, CudaType type, bool allows_tf32, const CudaConvolution *convolution,
    DnnDescription *ret_description, CudaMove *ret_packing)
{
    const CudaWindow *window = &convolution->window;
    DnnDescription description = {.kind = (int64_t)kind,
        .type = (int64_t)type,
        .is_tf32 = allows_tf32 && type == CUDA_FLOAT32,
        .space_rank = window->rank < 2 ? 2 : window->rank};
    Lying lying = {{0}, {0}, {0}};
    int rank = SPACE + (int)description.space_rank;
    if (type != CUDA_FLOAT16 && type != CUDA_BFLOAT16 && type != CUDA_FLOAT32) {
        return DNN_NO_TYPE;
    }
    if (description.space_rank > DNN_SPACE_MAX) {
        return DNN_NO_RANK;
    }
    read_space(convolution, &description, &lying);
    read_channels(convolution, &description, &lying);
    if (count_elements(&description.input, rank) < 0 || count_elements(&description.filter, rank) < 0 ||
        count_elements(&description.output, rank) < 0) {
        return DNN_NO_SIZE;
    }
    if (!is_step_between_groups_common(convolution) || !find_layout(&description, &lying, rank)) {
        return DNN_NO_LAYOUT;
    }
    CudaMove packing = {.count = 0};
    if (!lies_as(&description.filter, rank, lying.filter)) {
        packing = pack_filter(&description.filter, rank, lying.filter, convolution->filter);
    }
    *ret_packing = packing;
    description.input.alignment = alignment_of(convolution->input);
    description.filter.alignment = packing.count > 0 ? ALIGNMENT_MAX : alignment_of(convolution->filter);
    description.output.alignment = alignment_of(convolution->output);
    *ret_description = description;
    return DNN_ACCEPTED;
}

/* The steps of an epilogue have one order: those that follow one which is not computed here are left too. */
CudaEpilogue
dnn_fuse(const CudaEpilogue *epilogue, DnnDescription *description)
{
    CudaEpilogue rest = *epilogue;
    int rank = SPACE + (int)description->space_rank;
    if (rest.bias != NULL) {
        description->bias.alignment = alignment_of(rest.bias);
        for (int dimension = 0; dimension < rank; dimension++) {
            description->bias.sizes[dimension] = 1;
        }
        description->bias.sizes[CHANNEL] = description->output.sizes[CHANNEL];
        lay_out(&description->bias, rank, description->output.steps[CHANNEL] == 1);
        rest.bias = NULL;
    }
    if (rest.scale != NULL) {
        return rest;
    }
    if (rest.addend != NULL) {
        description->addend = description->output;
        description->addend.alignment = alignment_of(rest.addend);
        rest.addend = NULL;
    }
    if (rest.activation == CUDA_ACTIVATION_RELU) {
        description->has_relu = 1;
        rest.activation = CUDA_ACTIVATION_NONE;
    }
    return rest;
}
