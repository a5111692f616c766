#include "shared/ops/sampling/rule.h"

#include <assert.h>

Status
sampling_choice(Call *call, const Node *node, const char *attribute, const char *const *names, size_t count,
    size_t *ret_index)
{
    Slice given = node_attr_string(node, attribute);
    for (size_t index = 0; index < count; index++) {
        if (slice_equals_string(given, names[index])) {
            *ret_index = index;
            return STATUS_OK;
        }
    }
    return call_fail(call, STATUS_INVALID_ARGUMENT, "there is no %s '%.*s'", attribute,
        SLICE_PRINT(slice_part(given, 0, 64)));
}

static void
read_shapes(const Shape *input, const Shape *output, GridSample *sample)
{
    sample->space = input->rank - 2;
    sample->channels = input->dims[1];
    sample->plane = 1;
    sample->positions = 1;
    for (int dimension = sample->space - 1; dimension >= 0; dimension--) {
        sample->size[dimension] = input->dims[2 + dimension];
        sample->stride[dimension] = sample->plane;
        sample->plane *= input->dims[2 + dimension];
        sample->positions *= output->dims[2 + dimension];
    }
}

Status
grid_sample_read(
    Call *call, const Node *node, const Shape *input, const Shape *output, GridSample *ret_sample)
{
    assert(input->rank > 2 && input->rank <= 2 + SAMPLE_SPACE_MAX && output->rank == input->rank);

    static const char *const mode_names[] = {"nearest", "linear", "cubic"};
    static const SampleMode modes[] = {SAMPLE_NEAREST, SAMPLE_LINEAR, SAMPLE_CUBIC};
    static const char *const padding_names[] = {
        [SAMPLE_ZEROS] = "zeros", [SAMPLE_BORDER] = "border", [SAMPLE_REFLECTION] = "reflection"};
    GridSample sample = {.aligns_corners = node_attr_int(node, "align_corners") != 0};
    size_t mode = 0;
    size_t padding = 0;
    int64_t count = 0;
    TRY(sampling_choice(call, node, "mode", mode_names, COUNT_OF(mode_names), &mode));
    TRY(sampling_choice(call, node, "padding_mode", padding_names, COUNT_OF(padding_names), &padding));
    sample.mode = modes[mode];
    sample.padding = (SamplePadding)padding;
    read_shapes(input, output, &sample);
    if (sample.plane == 0 && shape_element_count(output, &count) && count > 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "an image without elements is sampled");
    }
    *ret_sample = sample;
    return STATUS_OK;
}

Status
roi_align_read(Call *call, const Node *node, const Shape *input, const Shape *output, RoiAlign *ret_align)
{
    enum { MEAN, LARGEST, RATIO_MAX = 1 << 10 };
    enum { HALF_PIXEL, OUTPUT_HALF_PIXEL };
    static const char *const modes[] = {[MEAN] = "avg", [LARGEST] = "max"};
    static const char *const places[] = {
        [HALF_PIXEL] = "half_pixel", [OUTPUT_HALF_PIXEL] = "output_half_pixel"};
    size_t mode = 0;
    size_t place = 0;
    int64_t count = 0;
    TRY(sampling_choice(call, node, "mode", modes, COUNT_OF(modes), &mode));
    TRY(sampling_choice(call, node, "coordinate_transformation_mode", places, COUNT_OF(places), &place));
    if (shape_element_count(output, &count) && count > 0 && input->dims[2] * input->dims[3] == 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "an image without elements is sampled");
    }
    int64_t ratio = node_attr_int(node, "sampling_ratio");
    if (ratio < 0 || ratio > RATIO_MAX) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "sampling_ratio is %lld, not 0 to %d",
            (long long)ratio, RATIO_MAX);
    }
    *ret_align = (RoiAlign){.ratio = ratio,
        .scale = (double)node_attr_float(node, "spatial_scale"),
        .is_half_pixel = place == HALF_PIXEL,
        .is_largest = mode == LARGEST};
    return STATUS_OK;
}
