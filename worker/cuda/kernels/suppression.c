/* Boxes that are chosen among overlapping ones, by the rules of the reference kernels (shared/ops/detection).
 */
#include "worker/cuda/kernels/suppression.h"

#include <assert.h>
#include <math.h>

#include "shared/tensor/half.h"
#include "worker/cuda/errors.h"
#include "worker/cuda/lane.h"
#include "worker/cuda/operands/counted.h"
#include "worker/cuda/operands/given.h"
#include "worker/cuda/operands/types.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

enum { BOXES, SCORES, SIZE_MAX_INPUT, OVERLAP_MAX, SCORE_MIN, SIGMA, ROW = 3 };
enum { SIDES, KEYS, CHOSEN, BEGINS }; /* of Counting.kept */

static bool
is_half_or_float(Dtype dtype)
{
    return dtype == DTYPE_FLOAT16 || dtype == DTYPE_FLOAT32;
}

/* Thresholds are numbers of the host, of either type. */
static bool
supports_suppression(const Node *node)
{
    bool is_supported = node->input_dtypes[BOXES] == node->input_dtypes[SCORES];
    for (uint32_t i = 0; i < node->input_count; i++) {
        Dtype dtype = node->input_dtypes[i];
        is_supported =
            is_supported && (i == SIZE_MAX_INPUT || dtype == DTYPE_INVALID || is_half_or_float(dtype));
    }
    return is_supported;
}

/* Reads a number on the host; an absent one leaves what is there. */
static Status
read_number(const KernelContext *context, uint32_t input, float *ret_number)
{
    const Tensor *tensor = given_input(context, input);
    if (tensor == NULL) {
        return STATUS_OK;
    }
    if (tensor_element_count(tensor) != 1) {
        char text[SHAPE_TEXT_SIZE];
        return call_fail(context->call, STATUS_INVALID_ARGUMENT, "input %u has shape %s, not one value",
            input, shape_text(&tensor->shape, text));
    }
    bool is_half = tensor->dtype == DTYPE_FLOAT16;
    *ret_number = is_half ? half_to_float(*(const uint16_t *)tensor->data) : *(const float *)tensor->data;
    return STATUS_OK;
}

static Status
check_overlap_max(Call *call, float overlap_max)
{
    return overlap_max >= 0 && overlap_max <= 1
               ? STATUS_OK
               : call_fail(call, STATUS_INVALID_ARGUMENT, "the threshold of overlaps is %g, not 0 to 1",
                     (double)overlap_max);
}

static Status
new_room(KernelContext *context, int64_t count, size_t size, Tensor *ret_room)
{
    Shape shape = shape_vector(count * (int64_t)size);
    return scratch_new(context, DTYPE_UINT8, &shape, ret_room);
}

static void
find_rooms(const Counting *counting, CudaSuppression *all)
{
    all->sides = counting->kept[SIDES].data;
    all->keys = counting->kept[KEYS].data;
    all->chosen = counting->kept[CHOSEN].data;
    all->begins = counting->kept[BEGINS].data;
    all->counts = counting->counts.data;
}

/* Runs all searches, unless nothing may be chosen. */
static Status
suppress(Counting *counting, CudaSuppression *all)
{
    KernelContext *context = counting->context;
    int64_t room = all->search_count * all->box_count;
    if (all->box_count > UINT32_MAX) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT, "%lld boxes are more than %lld",
            (long long)all->box_count, (long long)UINT32_MAX);
    }
    TRY(counting_begin(counting, all->search_count > 0 ? all->search_count : 1));
    if (room == 0 || all->size_max == 0) {
        return STATUS_OK;
    }
    int64_t sets = all->boxes == NULL ? 0 : all->search_count / all->classes;
    TRY(new_room(context, sets * CUDA_BOX_ARRAYS * all->box_count, sizeof(float), &counting->kept[SIDES]));
    TRY(new_room(context, room, sizeof(uint64_t), &counting->kept[KEYS]));
    TRY(new_room(context, all->search_count * all->size_max, sizeof(uint64_t), &counting->kept[CHOSEN]));
    TRY(new_room(context, all->is_lazy ? room : 0, sizeof(int32_t), &counting->kept[BEGINS]));
    find_rooms(counting, all);
    return cuda_check(context->call, cuda_suppress(all, cuda_stream(context)), "a suppression of boxes");
}

static Status
read_size_max(KernelContext *context, int64_t box_count, int64_t *ret_asked, int64_t *ret_size_max)
{
    size_t count = 0;
    *ret_asked = 0;
    if (given_input(context, SIZE_MAX_INPUT) != NULL) {
        TRY(kernel_input_ints(context, SIZE_MAX_INPUT, ret_asked, 1, &count));
        *ret_asked = count == 0 || *ret_asked < 0 ? 0 : *ret_asked;
    }
    *ret_size_max = *ret_asked < box_count ? *ret_asked : box_count;
    return STATUS_OK;
}

static CudaSuppression
onnx_suppression(const KernelContext *context)
{
    const Shape *scores = &context->inputs[SCORES].shape;
    return (CudaSuppression){
        .type = CUDA_FLOAT32,
        .boxes = context->inputs[BOXES].data,
        .scores = context->inputs[SCORES].data,
        .box_count = scores->dims[2],
        .search_count = scores->dims[0] * scores->dims[1],
        .classes = scores->dims[1],
        .takes_all = given_input(context, SCORE_MIN) == NULL,
        .is_centre = node_attr_int(context->node, "center_point_box") != 0,
    };
}

static Status
count_onnx(Counting *counting)
{
    KernelContext *context = counting->context;
    Shape shape;
    int64_t asked = 0;
    TRY(output_rule(context, &shape));
    CudaSuppression all = onnx_suppression(context);
    TRY(read_size_max(context, all.box_count, &asked, &all.size_max));
    TRY(read_number(context, OVERLAP_MAX, &all.overlap_max));
    TRY(read_number(context, SCORE_MIN, &all.score_min));
    TRY(check_overlap_max(context->call, all.overlap_max));
    return suppress(counting, &all);
}

static Status
fill_onnx(Counting *counting)
{
    KernelContext *context = counting->context;
    CudaSuppression all = onnx_suppression(context);
    Shape shape = {.rank = 2, .dims = {0, ROW}};
    Tensor *output = NULL;
    int64_t asked = 0;
    TRY(read_size_max(context, all.box_count, &asked, &all.size_max));
    for (int64_t n = 0; n < all.search_count; n++) {
        shape.dims[0] += counting->counted[n];
    }
    TRY(kernel_output(context, 0, DTYPE_INT64, &shape, &output));
    if (shape.dims[0] == 0) {
        return STATUS_OK;
    }
    find_rooms(counting, &all);
    return cuda_check(context->call, cuda_suppression_rows(&all, output->data, cuda_stream(context)),
        "the rows of chosen boxes");
}

static bool
has_overlaps(const Node *node)
{
    return slice_equals_string(node->op->name, "NonMaxSuppressionWithOverlaps");
}

/* The first version has its threshold as an attribute, and takes every score that is above the lowest one. */
static Status
read_thresholds(KernelContext *context, CudaSuppression *all)
{
    const Node *node = context->node;
    all->score_min = -3.40282347e+38F;
    if (given_input(context, OVERLAP_MAX) == NULL) {
        all->overlap_max = node_attr_float(node, "iou_threshold");
    }
    TRY(read_number(context, OVERLAP_MAX, &all->overlap_max));
    TRY(read_number(context, SCORE_MIN, &all->score_min));
    TRY(read_number(context, SIGMA, &all->sigma));
    if (all->sigma < 0 || isnan(all->sigma)) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT,
            "the sigma of soft suppression is %g, not at least 0", (double)all->sigma);
    }
    return has_overlaps(node) ? STATUS_OK : check_overlap_max(context->call, all->overlap_max);
}

static Status
count_chosen(Counting *counting)
{
    KernelContext *context = counting->context;
    const Tensor *boxes = &context->inputs[BOXES];
    const Tensor *scores = &context->inputs[SCORES];
    bool is_by_overlaps = has_overlaps(context->node);
    Shape shapes[ROW];
    int64_t asked = 0;
    TRY(output_rule(context, shapes));
    CudaSuppression all = {
        .type = cuda_type(scores->dtype),
        .boxes = is_by_overlaps ? NULL : boxes->data,
        .overlaps = is_by_overlaps ? boxes->data : NULL,
        .scores = scores->data,
        .box_count = scores->shape.dims[0],
        .search_count = 1,
        .classes = 1,
    };
    TRY(read_size_max(context, all.box_count, &asked, &all.size_max));
    TRY(read_thresholds(context, &all));
    all.is_lazy = is_by_overlaps || all.sigma > 0 || scores->dtype == DTYPE_FLOAT16;
    return suppress(counting, &all);
}

static Status
fill_chosen(Counting *counting)
{
    KernelContext *context = counting->context;
    const Node *node = context->node;
    bool is_padded =
        node_attr(node, "pad_to_max_output_size") != NULL && node_attr_bool(node, "pad_to_max_output_size");
    int64_t count = *counting->counted;
    int64_t asked = 0;
    int64_t size_max = 0;
    Tensor *outputs[ROW] = {NULL, NULL, NULL};
    TRY(read_size_max(context, count, &asked, &size_max));
    Shape vector = shape_vector(is_padded ? asked : count);
    Shape scalar = shape_scalar();
    assert(node->output_count > 0 && node->output_count <= ROW);
    for (uint32_t i = 0; i < node->output_count; i++) {
        bool is_vector = i == 0 || i + 1 < node->output_count;
        TRY(kernel_output(context, i, node->output_dtypes[i], is_vector ? &vector : &scalar, &outputs[i]));
    }
    CudaChosenBoxes chosen = {
        .chosen = counting->kept[CHOSEN].data,
        .count = count,
        .size = vector.dims[0],
        .type = cuda_type(context->inputs[SCORES].dtype),
        .indices = outputs[0]->data,
        .scores = node->output_count == ROW ? outputs[1]->data : NULL,
        .valid = node->output_count > 1 ? outputs[node->output_count - 1]->data : NULL,
    };
    return cuda_check(
        context->call, cuda_chosen_boxes(&chosen, cuda_stream(context)), "the list of chosen boxes");
}

static void
start_onnx(KernelPromise *promise)
{
    static const CountedKernel kernel = {.count = count_onnx, .fill = fill_onnx};
    counted_start(promise, &kernel);
}

static void
start_chosen(KernelPromise *promise)
{
    static const CountedKernel kernel = {.count = count_chosen, .fill = fill_chosen};
    counted_start(promise, &kernel);
}

/* All but boxes and scores are numbers of the host. */
#define SUPPRESSION(name, starts)                                                                            \
    {                                                                                                        \
        .op = (name), .supports = supports_suppression, .start = (starts), .host_inputs = UINT32_MAX - 3     \
    }

static const Kernel suppression_kernels[] = {
    SUPPRESSION("onnx::NonMaxSuppression", start_onnx),
    SUPPRESSION("NonMaxSuppression", start_chosen),
    SUPPRESSION("NonMaxSuppressionV2", start_chosen),
    SUPPRESSION("NonMaxSuppressionV3", start_chosen),
    SUPPRESSION("NonMaxSuppressionV4", start_chosen),
    SUPPRESSION("NonMaxSuppressionV5", start_chosen),
    SUPPRESSION("NonMaxSuppressionWithOverlaps", start_chosen),
};

KERNEL_FAMILY(cuda_kernels, suppression, suppression_kernels);
