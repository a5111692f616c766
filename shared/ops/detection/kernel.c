/* Non-maximum suppression of boxes, of each batch and class on its own, on all threads of the device. */
#include <math.h>

#include "shared/ops/detection/suppression.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

enum { LANES_MAX = 16 /* groups of searches that may run at the same time; each has its own scratch */ };

/* All searches of a node: number `n` has scores of its own, and the boxes of set n / searches_per_set. */
typedef struct Suppressing {
    SuppressionRule rule;
    bool has_begins;
    int64_t search_count;
    int64_t lane_count;
    const float *scores;
    int64_t classes;
    int64_t class_step; /* floats between the scores of two classes, and of two batches */
    int64_t batch_step;
    int64_t sets_per_batch; /* 1, or as many as classes */
    Tensor boxes;           /* normalised */
    const float *overlaps;
    Tensor keys;
    Tensor chosen;
    Tensor begins;
    Tensor counts; /* of what each search has chosen */
} Suppressing;

static void
suppressing_done(Suppressing *all)
{
    tensor_unref(&all->boxes);
    tensor_unref(&all->keys);
    tensor_unref(&all->chosen);
    tensor_unref(&all->begins);
    tensor_unref(&all->counts);
}
#define AUTO_SUPPRESSING CLEANUP(suppressing_done) Suppressing

static SuppressionSearch
search_at(const Suppressing *all, int64_t number, int64_t lane)
{
    const SuppressionRule *rule = &all->rule;
    int64_t batch = number / all->classes;
    int64_t class = number % all->classes;
    int64_t set = batch * all->sets_per_batch + (all->sets_per_batch > 1 ? class : 0);
    return (SuppressionSearch){.rule = rule,
        .scores = all->scores + batch * all->batch_step + class * all->class_step,
        .boxes = all->boxes.data == NULL
                     ? NULL
                     : (const float *)all->boxes.data + set * BOX_ARRAYS * rule->box_count,
        .overlaps = all->overlaps,
        .keys = (uint64_t *)all->keys.data + number * rule->box_count,
        .chosen = (float *)all->chosen.data + lane * suppression_room(rule),
        .begins = all->has_begins ? (int32_t *)all->begins.data + lane * rule->box_count : NULL};
}

static void
run_lane(void *context, int64_t lane)
{
    Suppressing *all = context;
    for (int64_t number = lane; number < all->search_count; number += all->lane_count) {
        SuppressionSearch search = search_at(all, number, lane);
        ((int64_t *)all->counts.data)[number] = suppression_run(&search);
    }
}

/* Runs all searches. The rule's size_max is what was asked for; it becomes at most the number of boxes. */
static Status
suppress_all(KernelContext *context, Suppressing *all)
{
    SuppressionRule *rule = &all->rule;
    if (rule->box_count > UINT32_MAX) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT, "%lld boxes are more than %lld",
            (long long)rule->box_count, (long long)UINT32_MAX);
    }
    rule->size_max = rule->size_max > rule->box_count ? rule->box_count : rule->size_max;
    all->search_count = rule->size_max == 0 ? 0 : all->search_count;
    all->lane_count = all->search_count < LANES_MAX ? all->search_count : LANES_MAX;
    TRY(scratch_array(context, all->search_count * rule->box_count, sizeof(uint64_t), &all->keys));
    TRY(scratch_array(context, all->lane_count * suppression_room(rule), sizeof(float), &all->chosen));
    TRY(scratch_array(context, all->search_count, sizeof(int64_t), &all->counts));
    if (all->has_begins) {
        TRY(scratch_array(context, all->lane_count * rule->box_count, sizeof(int32_t), &all->begins));
    }
    context->device->parallel_for(context->device, all->lane_count, run_lane, all);
    return STATUS_OK;
}

/* Normalises `sets` sets of boxes for each batch, which stand side by side: [batch, box, set, side]. */
static Status
normalise_all(KernelContext *context, const float *boxes, int64_t batches, bool is_centre, Suppressing *all)
{
    int64_t count = all->rule.box_count;
    int64_t sets = all->sets_per_batch;
    if (count == 0 || all->rule.size_max == 0) {
        return STATUS_OK; /* nothing is searched */
    }
    TRY(scratch_array(context, batches * sets * BOX_ARRAYS * count, sizeof(float), &all->boxes));
    for (int64_t number = 0; number < batches * sets; number++) {
        const float *first = boxes + (number / sets * count * sets + number % sets) * BOX_SIDES;
        boxes_normalise(first, sets * BOX_SIDES, count, is_centre,
            (float *)all->boxes.data + number * BOX_ARRAYS * count);
    }
    return STATUS_OK;
}

/* Reads a number of any floating dtype. */
static Status
read_number(KernelContext *context, uint32_t input, float *ret_number)
{
    const Tensor *tensor = &context->inputs[input];
    if (tensor_element_count(tensor) != 1) {
        char text[SHAPE_TEXT_SIZE];
        return call_fail(context->call, STATUS_INVALID_ARGUMENT, "input %u has shape %s, not one value",
            input, shape_text(&tensor->shape, text));
    }
    AUTO_TENSOR number = {0};
    TRY(scratch_cast(context, tensor, DTYPE_FLOAT32, &number));
    *ret_number = *(const float *)number.data;
    return STATUS_OK;
}

static bool
is_given(const KernelContext *context, uint32_t input)
{
    return input < context->input_count && context->inputs[input].dtype != DTYPE_INVALID;
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
read_onnx_rule(KernelContext *context, SuppressionRule *rule)
{
    size_t count = 0;
    rule->takes_all = !is_given(context, 4);
    if (is_given(context, 2)) {
        TRY(kernel_input_ints(context, 2, &rule->size_max, 1, &count));
        rule->size_max = count == 0 || rule->size_max < 0 ? 0 : rule->size_max;
    }
    if (is_given(context, 3)) {
        TRY(read_number(context, 3, &rule->overlap_max));
    }
    if (is_given(context, 4)) {
        TRY(read_number(context, 4, &rule->score_min));
    }
    return check_overlap_max(context->call, rule->overlap_max);
}

/* Writes a row for each chosen box: batch, class, box. */
static Status
write_onnx_rows(KernelContext *context, const Suppressing *all)
{
    const int64_t *counts = all->counts.data;
    Shape shape = {.rank = 2, .dims = {0, 3}};
    Tensor *output = NULL;
    for (int64_t number = 0; number < all->search_count; number++) {
        shape.dims[0] += counts[number];
    }
    TRY(kernel_output(context, 0, DTYPE_INT64, &shape, &output));
    int64_t *row = output->data;
    for (int64_t number = 0; number < all->search_count; number++) {
        SuppressionSearch search = search_at(all, number, 0);
        for (int64_t n = 0; n < counts[number]; n++, row += 3) {
            row[0] = number / all->classes;
            row[1] = number % all->classes;
            row[2] = suppression_index(&search, n);
        }
    }
    return STATUS_OK;
}

static Status
onnx_suppression_compute(KernelContext *context)
{
    const Tensor *boxes = &context->inputs[0];
    const Tensor *scores = &context->inputs[1];
    Shape shape;
    TRY(output_rule(context, &shape));
    int64_t count = boxes->shape.dims[1];
    int64_t classes = scores->shape.dims[1];
    AUTO_SUPPRESSING all = {.rule = {.box_count = count, .score_step = 1},
        .search_count = scores->shape.dims[0] * classes,
        .scores = scores->data,
        .classes = classes,
        .class_step = count,
        .batch_step = classes * count,
        .sets_per_batch = 1};
    TRY(read_onnx_rule(context, &all.rule));
    bool is_centre = node_attr_int(context->node, "center_point_box") != 0;
    TRY(normalise_all(context, boxes->data, boxes->shape.dims[0], is_centre, &all));
    TRY(suppress_all(context, &all));
    return write_onnx_rows(context, &all);
}

/* The first version has its threshold as an attribute, and takes every score that is above the lowest one. */
static Status
read_rule(KernelContext *context, SuppressionRule *rule)
{
    const Node *node = context->node;
    size_t count = 0;
    rule->score_min = -3.40282347e+38F;
    rule->is_half = context->inputs[1].dtype == DTYPE_FLOAT16;
    TRY(kernel_input_ints(context, 2, &rule->size_max, 1, &count));
    if (is_given(context, 3)) {
        TRY(read_number(context, 3, &rule->overlap_max));
    } else {
        rule->overlap_max = node_attr_float(node, "iou_threshold");
    }
    if (is_given(context, 4)) {
        TRY(read_number(context, 4, &rule->score_min));
    }
    if (is_given(context, 5)) {
        TRY(read_number(context, 5, &rule->sigma));
    }
    if (rule->sigma < 0 || isnan(rule->sigma)) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT,
            "the sigma of soft suppression is %g, not at least 0", (double)rule->sigma);
    }
    return STATUS_OK;
}

/* Makes output `index`, a vector, whose elements beyond the chosen ones are 0. */
static Status
vector_output(KernelContext *context, uint32_t index, int64_t size, Tensor **ret_output)
{
    Shape shape = shape_vector(size);
    TRY(kernel_output(context, index, context->node->output_dtypes[index], &shape, ret_output));
    if (size > 0) {
        memset((*ret_output)->data, 0, tensor_byte_size(*ret_output));
    }
    return STATUS_OK;
}

static Status
write_scores(KernelContext *context, const SuppressionSearch *search, int64_t count, int64_t size)
{
    AUTO_TENSOR scores = {0};
    Shape shape = shape_vector(size);
    TRY(scratch_new(context, DTYPE_FLOAT64, &shape, &scores));
    for (int64_t n = 0; n < size; n++) {
        ((double *)scores.data)[n] = n < count ? (double)suppression_score(search, n) : 0;
    }
    return scratch_finish(context, 1, &scores);
}

static Status
write_chosen(KernelContext *context, const Suppressing *all, int64_t size_max)
{
    const Node *node = context->node;
    SuppressionSearch search = search_at(all, 0, 0);
    int64_t count = all->search_count == 0 ? 0 : *(const int64_t *)all->counts.data;
    bool is_padded =
        node_attr(node, "pad_to_max_output_size") != NULL && node_attr_bool(node, "pad_to_max_output_size");
    int64_t size = is_padded ? size_max : count;
    Tensor *indices = NULL;
    Tensor *valid = NULL;
    Shape scalar = shape_scalar();
    TRY(vector_output(context, 0, size, &indices));
    for (int64_t n = 0; n < count; n++) {
        ((int32_t *)indices->data)[n] = (int32_t)suppression_index(&search, n);
    }
    if (node->output_count == 3) {
        TRY(write_scores(context, &search, count, size));
    }
    if (node->output_count > 1) {
        TRY(kernel_output(context, node->output_count - 1, DTYPE_INT32, &scalar, &valid));
        *(int32_t *)valid->data = (int32_t)count;
    }
    return STATUS_OK;
}

static Status
suppress_one(KernelContext *context, Suppressing *all, bool has_overlaps)
{
    AUTO_TENSOR scores = {0};
    AUTO_TENSOR boxes = {0};
    int64_t size_max = all->rule.size_max;
    TRY(scratch_cast(context, &context->inputs[0], DTYPE_FLOAT32, &boxes));
    TRY(scratch_cast(context, &context->inputs[1], DTYPE_FLOAT32, &scores));
    all->rule.box_count = context->inputs[1].shape.dims[0];
    all->rule.score_step = 1;
    all->search_count = 1;
    all->classes = 1;
    all->sets_per_batch = 1;
    all->scores = scores.data;
    all->has_begins = has_overlaps || all->rule.sigma > 0 || all->rule.is_half;
    if (has_overlaps) {
        all->overlaps = boxes.data;
    } else {
        TRY(normalise_all(context, boxes.data, 1, false, all));
    }
    TRY(suppress_all(context, all));
    return write_chosen(context, all, size_max);
}

static Status
suppression_compute(KernelContext *context)
{
    AUTO_SUPPRESSING all = {0};
    Shape shapes[3];
    TRY(output_rule(context, shapes));
    TRY(read_rule(context, &all.rule));
    TRY(check_overlap_max(context->call, all.rule.overlap_max));
    return suppress_one(context, &all, false);
}

static Status
overlaps_compute(KernelContext *context)
{
    AUTO_SUPPRESSING all = {0};
    Shape shape;
    TRY(output_rule(context, &shape));
    TRY(read_rule(context, &all.rule));
    return suppress_one(context, &all, true);
}

/* The outputs of CombinedNonMaxSuppression, for one batch. */
typedef struct Combined {
    float *boxes;
    float *scores;
    float *classes;
} Combined;

static void
write_box(const KernelContext *context, int64_t batch, int64_t class, int64_t index, float *box)
{
    const Tensor *boxes = &context->inputs[0];
    int64_t sets = boxes->shape.dims[2];
    int64_t set = sets > 1 ? class : 0;
    const float *from =
        (const float *)boxes->data + ((batch * boxes->shape.dims[1] + index) * sets + set) * BOX_SIDES;
    bool is_clipped = node_attr_bool(context->node, "clip_boxes");
    for (int side = 0; side < BOX_SIDES; side++) {
        float within = from[side] < 0 ? 0 : from[side] > 1 ? 1 : from[side];
        box[side] = is_clipped ? within : from[side];
    }
}

/* Takes the best of all classes; of equal ones those of the first class. */
static Status
combine_batch(KernelContext *context, const Suppressing *all, int64_t batch, int64_t size,
    const Combined *output, int32_t *ret_valid)
{
    const int64_t *counts = (const int64_t *)all->counts.data + batch * all->classes;
    int64_t count = 0;
    for (int64_t class = 0; class < all->classes; class ++) {
        count += counts[class];
    }
    AUTO_TENSOR keys = {0};
    AUTO_TENSOR places = {0}; /* class and number within it */
    TRY(scratch_array(context, count, sizeof(uint64_t), &keys));
    TRY(scratch_array(context, count, 2 * sizeof(int64_t), &places));
    int64_t *place = places.data;
    int64_t taken = 0;
    for (int64_t class = 0; class < all->classes; class ++) {
        SuppressionSearch search = search_at(all, batch * all->classes + class, 0);
        for (int64_t n = 0; n < counts[class]; n++, taken++) {
            place[2 * taken] = class;
            place[2 * taken + 1] = suppression_index(&search, n);
            ((uint64_t *)keys.data)[taken] = suppression_key(suppression_score(&search, n), (uint32_t)taken);
        }
    }
    heap_make(keys.data, count);
    int64_t written = 0;
    for (; written < size && count > 0; written++) {
        int64_t number = UINT32_MAX - (uint32_t)heap_take(keys.data, &count);
        int64_t class = place[2 * number];
        int64_t index = place[2 * number + 1];
        write_box(context, batch, class, index, output->boxes + written * BOX_SIDES);
        output->scores[written] =
            all->scores[batch * all->batch_step + class * all->class_step + index * all->rule.score_step];
        output->classes[written] = (float)class;
    }
    *ret_valid = (int32_t)written;
    return STATUS_OK;
}

static Status
write_combined(KernelContext *context, const Suppressing *all, const Shape *shapes)
{
    Tensor *outputs[4];
    int64_t size = shapes[1].dims[1];
    for (uint32_t index = 0; index < 4; index++) {
        TRY(kernel_output(
            context, index, context->node->output_dtypes[index], &shapes[index], &outputs[index]));
        if (tensor_element_count(outputs[index]) > 0) {
            memset(outputs[index]->data, 0, tensor_byte_size(outputs[index]));
        }
    }
    for (int64_t batch = 0; batch < shapes[3].dims[0] && all->search_count > 0; batch++) {
        Combined output = {.boxes = (float *)outputs[0]->data + batch * size * BOX_SIDES,
            .scores = (float *)outputs[1]->data + batch * size,
            .classes = (float *)outputs[2]->data + batch * size};
        TRY(combine_batch(context, all, batch, size, &output, (int32_t *)outputs[3]->data + batch));
    }
    return STATUS_OK;
}

static Status
combined_compute(KernelContext *context)
{
    const Tensor *boxes = &context->inputs[0];
    const Tensor *scores = &context->inputs[1];
    Shape shapes[4];
    size_t count = 0;
    TRY(output_shapes(context, shapes));
    int64_t classes = scores->shape.dims[2];
    AUTO_SUPPRESSING all = {.rule = {.box_count = boxes->shape.dims[1], .score_step = classes},
        .search_count = scores->shape.dims[0] * classes,
        .scores = scores->data,
        .classes = classes,
        .class_step = 1,
        .batch_step = boxes->shape.dims[1] * classes,
        .sets_per_batch = boxes->shape.dims[2]};
    TRY(kernel_input_ints(context, 2, &all.rule.size_max, 1, &count));
    TRY(read_number(context, 4, &all.rule.overlap_max));
    TRY(read_number(context, 5, &all.rule.score_min));
    TRY(check_overlap_max(context->call, all.rule.overlap_max));
    TRY(normalise_all(context, boxes->data, boxes->shape.dims[0], false, &all));
    TRY(suppress_all(context, &all));
    return write_combined(context, &all, shapes);
}

static bool
suppression_supports(const Node *node)
{
    Dtype dtype = node->input_dtypes[0];
    return dtype == DTYPE_FLOAT32 || dtype == DTYPE_FLOAT16;
}

#define SUPPRESSION(name, bits)                                                                              \
    {                                                                                                        \
        .op = (name), .supports = suppression_supports, .compute = suppression_compute,                      \
        .host_inputs = (bits)                                                                                \
    }

static const Kernel detection_kernels[] = {
    {.op = "onnx::NonMaxSuppression", .compute = onnx_suppression_compute, .host_inputs = 28},
    SUPPRESSION("NonMaxSuppression", 4),
    SUPPRESSION("NonMaxSuppressionV2", 12),
    SUPPRESSION("NonMaxSuppressionV3", 28),
    SUPPRESSION("NonMaxSuppressionV4", 28),
    SUPPRESSION("NonMaxSuppressionV5", 60),
    {.op = "NonMaxSuppressionWithOverlaps", .compute = overlaps_compute, .host_inputs = 28},
    {.op = "CombinedNonMaxSuppression", .compute = combined_compute, .host_inputs = 60},
};

KERNEL_FAMILY(reference, detection, detection_kernels);
