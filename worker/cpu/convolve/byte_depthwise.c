#include "worker/cpu/convolve/byte_depthwise.h"

#include <string.h>

#include "worker/cpu/vector/functions.h"
#include "worker/cpu/vector/variants.h"

bool
byte_depthwise_fits(const ByteDepthwise *depthwise)
{
    static const int64_t ROOM_MAX = (int64_t)1 << 28;
    return depthwise->columns.stride <= ROOM_MAX / BYTE_DEPTHWISE_LANES &&
           byte_extent_seen(&depthwise->rows) <= ROOM_MAX / byte_extent_seen(&depthwise->columns);
}

int64_t
byte_depthwise_room(const ByteDepthwise *depthwise)
{
    return byte_extent_seen(&depthwise->rows) * byte_extent_seen(&depthwise->columns) +
           BYTE_DEPTHWISE_LANES * depthwise->columns.stride;
}

VECTOR_FUNCTION void
widen_line_body(const uint8_t *line, int16_t *to, int64_t count, bool is_signed, int32_t zero)
{
    uint8_t flip = is_signed ? 0x80 : 0;
    int32_t shift = zero + flip;
    VECTOR_LOOP for (int64_t n = 0; n < count; n++)
    {
        to[n] = (int16_t)((int32_t)(uint8_t)(line[n] ^ flip) - shift);
    }
}
VECTOR_VARIANTS(widen_line, (const uint8_t *line, int16_t *to, int64_t count, bool is_signed, int32_t zero),
    (line, to, count, is_signed, zero))

void
byte_depthwise_widen(const ByteDepthwise *depthwise, const uint8_t *plane, int16_t *room)
{
    const ByteExtent *rows = &depthwise->rows;
    const ByteExtent *columns = &depthwise->columns;
    int64_t height = byte_extent_seen(rows);
    int64_t width = byte_extent_seen(columns);
    int64_t first = columns->before < width ? columns->before : width;
    int64_t count = width - first < columns->input ? width - first : columns->input;
    memset(room, 0, (size_t)byte_depthwise_room(depthwise) * sizeof *room);
    for (int64_t row = 0; row < rows->input && row + rows->before < height; row++) {
        widen_line(plane + row * columns->input, room + (row + rows->before) * width + first, count,
            depthwise->is_signed, depthwise->zero_point);
    }
}

/* Sums LANES positions at a time, so that sums stay in registers; what lies behind the last one is computed,
 * too, and not used. */
VECTOR_FUNCTION void
sum_row(const ByteDepthwise *depthwise, const int16_t *lines, int64_t width, int64_t stride,
    const int32_t *factors, int32_t *sums)
{
    for (int64_t n = 0; n < depthwise->columns.output; n += BYTE_DEPTHWISE_LANES) {
        int32_t lanes[BYTE_DEPTHWISE_LANES] = {0};
        const int32_t *factor = factors;
        for (int64_t row = 0; row < depthwise->rows.size; row++) {
            const int16_t *line = lines + row * depthwise->rows.dilation * width + n * stride;
            for (int64_t column = 0; column < depthwise->columns.size; column++, factor++) {
                VECTOR_LOOP for (int64_t lane = 0; lane < BYTE_DEPTHWISE_LANES; lane++)
                {
                    uint32_t product = (uint32_t)(*factor * line[lane * stride]);
                    lanes[lane] = (int32_t)((uint32_t)lanes[lane] + product);
                }
                line += depthwise->columns.dilation;
            }
        }
        memcpy(sums + n, lanes, sizeof lanes);
    }
}

VECTOR_FUNCTION void
sum_any_row_body(const ByteDepthwise *depthwise, const int16_t *lines, int64_t width, const int32_t *factors,
    int32_t *sums)
{
    switch (depthwise->columns.stride) {
    case 1:
        sum_row(depthwise, lines, width, 1, factors, sums);
        break;
    case 2:
        sum_row(depthwise, lines, width, 2, factors, sums);
        break;
    default:
        sum_row(depthwise, lines, width, depthwise->columns.stride, factors, sums);
        break;
    }
}
VECTOR_VARIANTS(sum_any_row,
    (const ByteDepthwise *depthwise, const int16_t *lines, int64_t width, const int32_t *factors,
        int32_t *sums),
    (depthwise, lines, width, factors, sums))

void
byte_depthwise_row(
    const ByteDepthwise *depthwise, const int16_t *room, const int32_t *factors, int64_t row, int32_t *sums)
{
    int64_t width = byte_extent_seen(&depthwise->columns);
    sum_any_row(depthwise, room + row * depthwise->rows.stride * width, width, factors, sums);
}
