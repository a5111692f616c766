/* What detectors end with: boxes that are chosen among overlapping ones. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

enum { BOX_SIDES = 4 };

static Status
check_sides(Call *call, int64_t sides)
{
    int64_t checked = 0;
    return infer_equal(call, sides, BOX_SIDES, "the number of a box's coordinates", &checked);
}

/* Boxes [batch, n, 4], scores [batch, class, n]; how many boxes are chosen is known only when it runs. */
static Status
infer_onnx_suppression(Call *call, InferContext *context)
{
    Shape boxes;
    Shape scores;
    int64_t same = 0;
    TRY(infer_rank(call, context, 0, 3, &boxes));
    TRY(infer_rank(call, context, 1, 3, &scores));
    TRY(check_sides(call, boxes.dims[2]));
    TRY(infer_equal(call, boxes.dims[0], scores.dims[0], "the batch", &same));
    TRY(infer_equal(call, boxes.dims[1], scores.dims[2], "the number of boxes", &same));
    context->outputs[0] = shape_of_rank(2);
    context->outputs[0].dims[1] = 3;
    return STATUS_OK;
}

/* Reads a size that must not be negative; -1: it is not known. */
static Status
read_size(Call *call, const InferContext *context, uint32_t input, int64_t *ret_size)
{
    bool is_known = false;
    int64_t size = 0;
    TRY(infer_int(call, context, input, &size, &is_known));
    if (is_known && size < 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "input %u is %lld, not a size of at least 0", input,
            (long long)size);
    }
    *ret_size = is_known ? size : -1;
    return STATUS_OK;
}

/* Sets the outputs of one batch and class: vectors of the chosen boxes, of which only those that are padded
 * have a size known before, and perhaps the number that is valid. */
static Status
infer_chosen(Call *call, InferContext *context)
{
    const Node *node = context->node;
    int64_t size = 0;
    TRY(read_size(call, context, 2, &size));
    bool is_padded =
        node_attr(node, "pad_to_max_output_size") != NULL && node_attr_bool(node, "pad_to_max_output_size");
    uint32_t vectors = node->output_count == 1 ? 1 : node->output_count - 1;
    for (uint32_t index = 0; index < node->output_count; index++) {
        context->outputs[index] = index < vectors ? shape_vector(is_padded ? size : -1) : shape_scalar();
    }
    return STATUS_OK;
}

/* Boxes [n, 4], scores [n]. */
static Status
infer_suppression(Call *call, InferContext *context)
{
    Shape boxes;
    Shape scores;
    int64_t same = 0;
    TRY(infer_rank(call, context, 0, 2, &boxes));
    TRY(infer_rank(call, context, 1, 1, &scores));
    TRY(check_sides(call, boxes.dims[1]));
    TRY(infer_equal(call, boxes.dims[0], scores.dims[0], "the number of boxes", &same));
    return infer_chosen(call, context);
}

/* Overlaps [n, n], scores [n]. */
static Status
infer_suppression_by_overlaps(Call *call, InferContext *context)
{
    Shape overlaps;
    Shape scores;
    int64_t same = 0;
    TRY(infer_rank(call, context, 0, 2, &overlaps));
    TRY(infer_rank(call, context, 1, 1, &scores));
    TRY(infer_equal(call, overlaps.dims[0], overlaps.dims[1], "the number of boxes", &same));
    TRY(infer_equal(call, overlaps.dims[0], scores.dims[0], "the number of boxes", &same));
    return infer_chosen(call, context);
}

/* Computes how many boxes the outputs have for each batch; -1 when it is not known. */
static Status
size_of_batch(Call *call, const InferContext *context, int64_t classes, int64_t *ret_size)
{
    int64_t of_class = 0;
    int64_t total = 0;
    TRY(read_size(call, context, 2, &of_class));
    TRY(read_size(call, context, 3, &total));
    *ret_size = total;
    if (node_attr_bool(context->node, "pad_per_class")) {
        int64_t padded = 0;
        TRY(infer_multiply(call, of_class, classes, &padded));
        *ret_size = padded < 0 || total < 0 ? -1 : padded < total ? padded : total;
    }
    return STATUS_OK;
}

/* Boxes [batch, n, 1 or class, 4], scores [batch, n, class]. */
static Status
infer_combined(Call *call, InferContext *context)
{
    Shape boxes;
    Shape scores;
    int64_t batch = 0;
    int64_t same = 0;
    int64_t size = 0;
    TRY(infer_rank(call, context, 0, 4, &boxes));
    TRY(infer_rank(call, context, 1, 3, &scores));
    TRY(check_sides(call, boxes.dims[3]));
    TRY(infer_equal(call, boxes.dims[0], scores.dims[0], "the batch", &batch));
    TRY(infer_equal(call, boxes.dims[1], scores.dims[1], "the number of boxes", &same));
    if (boxes.dims[2] != 1) {
        TRY(infer_equal(call, boxes.dims[2], scores.dims[2], "the number of classes", &same));
    }
    TRY(size_of_batch(call, context, scores.dims[2], &size));
    context->outputs[0] = (Shape){.rank = 3, .dims = {batch, size, BOX_SIDES}};
    context->outputs[1] = (Shape){.rank = 2, .dims = {batch, size}};
    context->outputs[2] = context->outputs[1];
    context->outputs[3] = shape_vector(batch);
    return infer_check_size(call, &context->outputs[0]);
}

static const OpDefinition detection_ops[] = {
    OP("onnx::NonMaxSuppression(boxes:float, scores:float, max_output_boxes_per_class?:int64, "
       "iou_threshold?:float, score_threshold?:float)->(selected_indices:int64) {center_point_box:int=0}",
        0, infer_onnx_suppression),
    OP("NonMaxSuppression(boxes:float, scores:float, max_output_size:int32)->(selected_indices:int32) "
       "{iou_threshold:float=0.5}",
        0, infer_suppression),
    OP("NonMaxSuppressionV2(boxes:T, scores:T, max_output_size:int32, iou_threshold:T_threshold)->"
       "(selected_indices:int32) {T:type=DT_FLOAT, T_threshold:type=DT_FLOAT}",
        0, infer_suppression),
    OP("NonMaxSuppressionV3(boxes:T, scores:T, max_output_size:int32, iou_threshold:T_threshold, "
       "score_threshold:T_threshold)->(selected_indices:int32) {T:type=DT_FLOAT, T_threshold:type=DT_FLOAT}",
        0, infer_suppression),
    OP("NonMaxSuppressionV4(boxes:T, scores:T, max_output_size:int32, iou_threshold:T_threshold, "
       "score_threshold:T_threshold)->(selected_indices:int32, valid_outputs:int32) {T:type=DT_FLOAT, "
       "T_threshold:type=DT_FLOAT, pad_to_max_output_size:bool=false}",
        0, infer_suppression),
    OP("NonMaxSuppressionV5(boxes:T, scores:T, max_output_size:int32, iou_threshold:T, score_threshold:T, "
       "soft_nms_sigma:T)->(selected_indices:int32, selected_scores:T, valid_outputs:int32) "
       "{T:type=DT_FLOAT, pad_to_max_output_size:bool=false}",
        0, infer_suppression),
    OP("NonMaxSuppressionWithOverlaps(overlaps:float, scores:float, max_output_size:int32, "
       "overlap_threshold:float, score_threshold:float)->(selected_indices:int32) {}",
        0, infer_suppression_by_overlaps),
    OP("CombinedNonMaxSuppression(boxes:float, scores:float, max_output_size_per_class:int32, "
       "max_total_size:int32, iou_threshold:float, score_threshold:float)->(nmsed_boxes:float, "
       "nmsed_scores:float, nmsed_classes:float, valid_detections:int32) {pad_per_class:bool=false, "
       "clip_boxes:bool=true}",
        0, infer_combined),
};

OP_FAMILY(detection, detection_ops);
