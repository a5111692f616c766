#include "worker/cpu/convolve/byte_filter.h"

#include <string.h>

/* Packs the filter of one output channel into its lane of a panel; returns the sum of its bytes. */
static int32_t
pack_lane(const ByteFilterShape *shape, const uint8_t *filter, uint8_t flip, int64_t width, int8_t *lane)
{
    int64_t fours = byte_filter_fours(shape);
    int32_t sum = 0;
    for (int64_t channel = 0; channel < shape->inputs; channel++) {
        for (int64_t tap = 0; tap < shape->taps; tap++) {
            int64_t four = tap * fours + channel / BYTE_FOUR;
            int8_t byte = (int8_t)(filter[channel * shape->taps + tap] ^ flip);
            lane[four * width * BYTE_FOUR + channel % BYTE_FOUR] = byte;
            sum = (int32_t)((uint32_t)sum + (uint32_t)byte);
        }
    }
    return sum;
}

void
byte_filter_pack(const ByteFilterShape *shape, const uint8_t *filter, bool is_signed, int8_t *ret_panels,
    int32_t *ret_sums)
{
    enum { SIGN = 0x80, PANEL = BYTE_PANEL_VECTORS * BYTE_VECTOR };
    int64_t lanes = byte_filter_lanes(shape);
    int64_t depth = shape->taps * byte_filter_fours(shape) * BYTE_FOUR;
    memset(ret_panels, 0, (size_t)(shape->groups * byte_filter_size(shape)));
    memset(ret_sums, 0, (size_t)(shape->groups * lanes) * sizeof *ret_sums);
    for (int64_t group = 0; group < shape->groups; group++) {
        for (int64_t output = 0; output < shape->outputs; output++) {
            int64_t first = output / PANEL * PANEL;
            int64_t lane = (group * lanes + first) * depth + (output - first) * BYTE_FOUR;
            int64_t row = group * shape->outputs + output;
            ret_sums[group * lanes + output] = pack_lane(shape, filter + row * shape->inputs * shape->taps,
                is_signed ? 0 : SIGN, smaller_of(lanes - first, PANEL), ret_panels + lane);
        }
    }
}
