#include "worker/cpu/convolve/byte_image.h"

#include "worker/cpu/sizes.h"
#include "worker/cpu/vector/byte_transpose.h"
#include "worker/cpu/vector/variants.h"

enum { FOUR = 4, SIGN = 0x80 };

bool
byte_image_init(ByteImage *image, const ByteExtent *axes, int64_t channels, int64_t groups)
{
    static const int64_t size_max = (int64_t)1 << 30;
    int64_t group_step = divide_up(channels, FOUR) * FOUR;
    *image = (ByteImage){.channels = channels,
        .groups = groups,
        .group_step = group_step,
        .pixel_step = group_step * groups,
        .pixels = 1};
    for (int axis = 0; axis < BYTE_IMAGE_RANK; axis++) {
        image->axes[axis] = axes[axis];
        image->seen[axis] = byte_extent_seen(&axes[axis]);
        if (image->seen[axis] > size_max / image->pixel_step / image->pixels) {
            return false;
        }
        image->pixels *= image->seen[axis];
    }
    image->lines = image->pixels / image->seen[BYTE_IMAGE_RANK - 1];
    return true;
}

void
byte_image_taps(const ByteImage *image, int64_t *ret_taps)
{
    int64_t count = 1;
    ret_taps[0] = 0;
    int64_t step = image->pixels;
    for (int axis = 0; axis < BYTE_IMAGE_RANK; axis++) {
        const ByteExtent *extent = &image->axes[axis];
        step /= image->seen[axis];
        for (int64_t tap = count * extent->size - 1; tap >= 0; tap--) {
            int64_t own = tap % extent->size * extent->dilation * step;
            ret_taps[tap] = ret_taps[tap / extent->size] + own;
        }
        count *= extent->size;
    }
}

void
byte_image_positions(const ByteImage *image, int64_t first, int64_t count, int64_t *ret_positions)
{
    const ByteExtent *last = &image->axes[BYTE_IMAGE_RANK - 1];
    int64_t column = first % last->output;
    int64_t line = first / last->output;
    for (int64_t n = 0; n < count; line++, column = 0) {
        int64_t rest = line;
        int64_t offset = 0;
        int64_t step = image->pixels / image->lines;
        for (int axis = BYTE_IMAGE_RANK - 2; axis >= 0; axis--) {
            offset += rest % image->axes[axis].output * image->axes[axis].stride * step;
            rest /= image->axes[axis].output;
            step *= image->seen[axis];
        }
        for (; n < count && column < last->output; n++, column++) {
            ret_positions[n] = offset + column * last->stride;
        }
    }
}

/* Channels of an image that lie side by side in each pixel, and some columns of a line. */
typedef struct Strip {
    const uint8_t *from; /* the first channel */
    const uint8_t *end;  /* of what may be read */
    int64_t channel_step;
    int64_t channels;
    int64_t room; /* bytes of a pixel that the channels may take */
    int64_t columns;
    int64_t pixel_step;
    uint8_t flip;
    uint8_t *to;
} Strip;

VECTOR_FUNCTION ByteRow
load_row(const Strip *strip, int64_t channel, int64_t column)
{
    uint8_t bytes[TRANSPOSE_BYTES] = {0};
    ByteRow row;
    const uint8_t *from = strip->from + channel * strip->channel_step + column;
    if (strip->end - from >= TRANSPOSE_BYTES) {
        memcpy(&row, from, sizeof row);
    } else {
        byte_row_copy(bytes, from, smaller_of(strip->columns - column, TRANSPOSE_BYTES));
        memcpy(&row, bytes, sizeof row);
    }
    return row ^ strip->flip;
}

/* Turns at most four channels of 16 columns. */
VECTOR_FUNCTION void
turn_four(const Strip *strip, int64_t channel, int64_t column)
{
    ByteRow rows[FOUR] = {{0}};
    int64_t channels = strip->channels - channel;
    int64_t columns = smaller_of(strip->columns - column, TRANSPOSE_BYTES);
    uint8_t *to = strip->to + column * strip->pixel_step + channel;
    for (int64_t n = 0; n < channels; n++) {
        rows[n] = load_row(strip, channel + n, column);
    }
    byte_rows_interleave(rows);
    if (strip->pixel_step == FOUR && columns == TRANSPOSE_BYTES) {
        memcpy(to, rows, sizeof rows);
        return;
    }
    for (int64_t n = 0; n < columns; n++) {
        memcpy(to + n * strip->pixel_step, (const uint8_t *)rows + n * FOUR, FOUR);
    }
}

/* Turns at most 16 channels of 16 columns. */
VECTOR_FUNCTION void
turn_some(const Strip *strip, int64_t channel, int64_t column)
{
    ByteRow rows[TRANSPOSE_BYTES];
    int64_t channels = strip->channels - channel;
    int64_t columns = smaller_of(strip->columns - column, TRANSPOSE_BYTES);
    int64_t room = strip->room - channel;
    uint8_t *to = strip->to + column * strip->pixel_step + channel;
    for (int n = 0; n < TRANSPOSE_BYTES; n++) {
        rows[n] = load_row(strip, channel + (n < channels ? n : 0), column);
    }
    byte_rows_transpose(rows);
    for (int64_t n = 0; n < columns; n++) {
        byte_row_copy(to + n * strip->pixel_step, (const uint8_t *)&rows[n], room);
    }
}

/* Turns 16 channels, of which 16 columns may be read. */
VECTOR_FUNCTION void
turn_sixteen(const Strip *strip, int64_t channel, int64_t column)
{
    ByteRow rows[TRANSPOSE_BYTES];
    int64_t columns = smaller_of(strip->columns - column, TRANSPOSE_BYTES);
    const uint8_t *from = strip->from + channel * strip->channel_step + column;
    uint8_t *to = strip->to + column * strip->pixel_step + channel;
    TRANSPOSE_UNROLL for (int n = 0; n < TRANSPOSE_BYTES; n++)
    {
        memcpy(&rows[n], from + n * strip->channel_step, sizeof rows[n]);
        rows[n] ^= strip->flip;
    }
    byte_rows_transpose(rows);
    if (columns == TRANSPOSE_BYTES) {
        TRANSPOSE_UNROLL for (int n = 0; n < TRANSPOSE_BYTES; n++)
        {
            memcpy(to + n * strip->pixel_step, &rows[n], sizeof rows[n]);
        }
        return;
    }
    for (int64_t n = 0; n < columns; n++) {
        memcpy(to + n * strip->pixel_step, &rows[n], sizeof rows[n]);
    }
}

VECTOR_FUNCTION void
turn_channels(const Strip *strip, int64_t channel, int64_t column)
{
    int64_t channels = smaller_of(strip->channels - channel, TRANSPOSE_BYTES);
    const uint8_t *last = strip->from + (channel + channels - 1) * strip->channel_step + column;
    if (channels == TRANSPOSE_BYTES && strip->end - last >= TRANSPOSE_BYTES) {
        turn_sixteen(strip, channel, column);
    } else if (channels <= FOUR) {
        turn_four(strip, channel, column);
    } else {
        turn_some(strip, channel, column);
    }
}

/* All columns of some channels come first: those of many channels lie in too many pages. */
VECTOR_FUNCTION void
turn_strip_body(const Strip *strip)
{
    for (int64_t channel = 0; channel < strip->channels; channel += TRANSPOSE_BYTES) {
        for (int64_t column = 0; column < strip->columns; column += TRANSPOSE_BYTES) {
            turn_channels(strip, channel, column);
        }
    }
}
VECTOR_VARIANTS(turn_strip, (const Strip *strip), (strip))

/* Returns the number of an input's line under this line of the image; -1: it is padding. */
static int64_t
input_line(const ByteImage *image, int64_t line)
{
    int64_t number = 0;
    int64_t step = 1;
    for (int axis = BYTE_IMAGE_RANK - 2; axis >= 0; axis--) {
        int64_t position = line % image->seen[axis] - image->axes[axis].before;
        if (position < 0 || position >= image->axes[axis].input) {
            return -1;
        }
        line /= image->seen[axis];
        number += position * step;
        step *= image->axes[axis].input;
    }
    return number;
}

static void
fill_pixels(const ByteImage *image, int64_t first, int64_t end, uint8_t *line)
{
    memset(line + first * image->pixel_step, image->padding, (size_t)((end - first) * image->pixel_step));
}

/* Groups whose channels need no filling up are turned as one. */
void
byte_image_line(const ByteImage *image, const uint8_t *input, const uint8_t *end, int64_t line, uint8_t *to)
{
    const ByteExtent *columns = &image->axes[BYTE_IMAGE_RANK - 1];
    int64_t width = image->seen[BYTE_IMAGE_RANK - 1];
    int64_t number = input_line(image, line);
    int64_t first = number < 0 ? width : smaller_of(columns->before, width);
    int64_t count = smaller_of(width - first, columns->input);
    int64_t step = 1;
    for (int axis = 0; axis < BYTE_IMAGE_RANK; axis++) {
        step *= image->axes[axis].input;
    }
    bool is_filled = image->group_step == image->channels;
    int64_t strips = is_filled || count == 0 ? 1 : image->groups;
    fill_pixels(image, 0, first, to);
    for (int64_t group = 0; count > 0 && group < strips; group++) {
        Strip strip = {.from = input + group * image->channels * step + number * columns->input,
            .end = end,
            .channel_step = step,
            .channels = is_filled ? image->pixel_step : image->channels,
            .room = is_filled ? image->pixel_step : image->group_step,
            .columns = count,
            .pixel_step = image->pixel_step,
            .flip = image->is_signed ? SIGN : 0,
            .to = to + first * image->pixel_step + group * image->group_step};
        turn_strip(&strip);
    }
    fill_pixels(image, first + count, width, to);
}

VECTOR_FUNCTION void
sum_pixels_body(const uint8_t *bytes, int64_t step, int64_t channels, int64_t count, int32_t *sums)
{
    for (int64_t n = 0; n < count; n++) {
        int32_t sum = 0;
        const uint8_t *from = bytes + n * step;
        _Pragma("omp simd reduction(+:sum)") for (int64_t channel = 0; channel < channels; channel++)
        {
            sum += from[channel];
        }
        sums[n] = sum;
    }
}
VECTOR_VARIANTS(sum_pixels,
    (const uint8_t *bytes, int64_t step, int64_t channels, int64_t count, int32_t *sums),
    (bytes, step, channels, count, sums))

void
byte_image_sum_line(const ByteImage *image, const uint8_t *line, int32_t *sums)
{
    int64_t pixels = image->seen[BYTE_IMAGE_RANK - 1];
    sum_pixels(line, image->group_step, image->channels, pixels * image->groups, sums);
}
