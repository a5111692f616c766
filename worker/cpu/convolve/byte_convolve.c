#include "worker/cpu/convolve/byte_convolve.h"

#include "worker/cpu/vector/byte_transpose.h"
#include "worker/cpu/vector/scaled_sums.h"
#include "worker/cpu/vector/variants.h"
#include "worker/reference/scratch.h"

enum {
    PANEL = BYTE_PANEL_VECTORS * BYTE_VECTOR,
    TILE_POSITIONS = 48,      /* eight times what is in registers */
    TURNED_AT_ONCE = 1 << 20, /* bytes of images that are turned before they are multiplied */
    LINES_SIZE = 1 << 14,     /* bytes that a thread turns at once */
};

typedef struct Job {
    const ByteConvolve *convolve;
    int64_t first;      /* entry of the batch that is turned */
    int64_t entries;    /* that are turned */
    int64_t entry_size; /* bytes */
    int64_t part;       /* lines that a thread turns at once */
    int64_t parts;      /* of an entry */
    int64_t panels;     /* of a group */
    int64_t tiles;      /* of positions */
    uint8_t *images;
    int32_t *pixel_sums; /* of each pixel and group; NULL: not needed */
    const int64_t *pixel_taps;
    const int64_t *byte_taps;
} Job;

static void
turn_lines(void *context, int64_t item)
{
    const Job *job = context;
    const ByteConvolve *convolve = job->convolve;
    const ByteImage *image = &convolve->image;
    const uint8_t *bytes = convolve->input->data;
    int64_t size = tensor_element_count(convolve->input);
    int64_t entry = item / job->parts;
    int64_t first = item % job->parts * job->part;
    int64_t pixels = image->seen[BYTE_IMAGE_RANK - 1];
    for (int64_t line = first; line < smaller_of(first + job->part, image->lines); line++) {
        uint8_t *to = job->images + entry * job->entry_size + line * pixels * image->pixel_step;
        byte_image_line(
            image, bytes + (job->first + entry) * (size / convolve->batch), bytes + size, line, to);
        if (job->pixel_sums != NULL) {
            int64_t pixel = entry * image->pixels + line * pixels;
            byte_image_sum_line(image, to, job->pixel_sums + pixel * image->groups);
        }
    }
}

/* Some positions of one entry by one panel of a group. */
typedef struct Tile {
    int64_t entry;
    int64_t group;
    int64_t panel;
    int64_t first;
    int64_t count;
    int64_t width; /* lanes of the panel */
    int64_t pixels[TILE_POSITIONS];
} Tile;

/* Panels are the outermost: one of them is read for all positions while it is in a cache. */
static Tile
find_tile(const Job *job, int64_t item)
{
    const ByteConvolve *convolve = job->convolve;
    int64_t place = item / job->tiles;
    int64_t number = item % job->tiles;
    Tile tile = {.entry = place % job->entries,
        .panel = place / job->entries % job->panels,
        .group = place / job->entries / job->panels,
        .first = convolve->positions * number / job->tiles};
    tile.count = convolve->positions * (number + 1) / job->tiles - tile.first;
    tile.width = smaller_of(byte_filter_lanes(&convolve->shape) - tile.panel * PANEL, PANEL);
    byte_image_positions(&convolve->image, tile.first, tile.count, tile.pixels);
    return tile;
}

static void
/* NOLINTNEXTLINE(readability-non-const-parameter): the micro-kernel writes them */
multiply_tile(const Job *job, const Tile *tile, int32_t *sums)
{
    const ByteConvolve *convolve = job->convolve;
    const ByteImage *image = &convolve->image;
    int64_t lanes = byte_filter_lanes(&convolve->shape);
    int64_t depth = byte_filter_size(&convolve->shape) / lanes;
    int64_t lane = tile->group * lanes + tile->panel * PANEL;
    int64_t rows[BYTE_ROWS_MAX];
    ByteMicroKernel multiply = byte_microkernel();
    int64_t steps = divide_up(tile->count, BYTE_ROWS_MAX);
    for (int64_t step = 0; step < steps; step++) {
        int64_t first = tile->count * step / steps;
        int64_t count = tile->count * (step + 1) / steps - first;
        for (int64_t row = 0; row < count; row++) {
            rows[row] = tile->pixels[first + row] * image->pixel_step;
        }
        ByteTile part = {
            .image = job->images + tile->entry * job->entry_size + tile->group * image->group_step,
            .rows = rows,
            .taps = job->byte_taps,
            .tap_count = convolve->shape.taps,
            .fours = byte_filter_fours(&convolve->shape),
            .panel = convolve->panels + lane * depth,
            .start = convolve->start + lane,
            .sums = sums + first * tile->width,
            .row_count = (int)count,
            .vectors = (int)(tile->width / BYTE_VECTOR)};
        multiply(&part);
    }
}

/* The micro-kernel, which is called by a pointer, has written the sums. */
VECTOR_FUNCTION void
subtract_zeros_body(const int32_t *zeros, uint32_t factor, int64_t width, int32_t *sums)
{
    VECTOR_LOOP for (int64_t n = 0; n < width; n++)
    {
        /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult) */
        sums[n] = (int32_t)((uint32_t)sums[n] - (uint32_t)zeros[n] * factor);
    }
}
VECTOR_VARIANTS(subtract_zeros, (const int32_t *zeros, uint32_t factor, int64_t width, int32_t *sums),
    (zeros, factor, width, sums))

/* Subtracts what the zero points of the filter add: each as often as the sum of what the window sees. */
static void
subtract_filter_zeros(const Job *job, const Tile *tile, int32_t *sums)
{
    const ByteConvolve *convolve = job->convolve;
    int64_t groups = convolve->image.groups;
    const int32_t *seen = job->pixel_sums + tile->entry * convolve->image.pixels * groups + tile->group;
    const int32_t *zeros =
        convolve->zeros + tile->group * byte_filter_lanes(&convolve->shape) + tile->panel * PANEL;
    for (int64_t n = 0; n < tile->count; n++) {
        uint32_t sum = 0;
        for (int64_t tap = 0; tap < convolve->shape.taps; tap++) {
            sum += (uint32_t)seen[(tile->pixels[n] + job->pixel_taps[tap]) * groups];
        }
        subtract_zeros(zeros, sum, tile->width, sums + n * tile->width);
    }
}

/* Positions of channels, one position after another, which are turned into lines of channels. */
typedef struct Turn {
    const void *from;
    int64_t width; /* numbers of a position */
    int64_t count;
    int64_t channels;
    int64_t step; /* numbers of a channel of the output */
    void *to;
} Turn;

/* Turns 16 channels of at most 16 positions; what lies behind them is read in vain. */
VECTOR_FUNCTION void
turn_sixteen(const uint8_t *from, int64_t width, int64_t channels, int64_t count, int64_t step, uint8_t *to)
{
    ByteRow rows[TRANSPOSE_BYTES];
    TRANSPOSE_UNROLL for (int n = 0; n < TRANSPOSE_BYTES; n++)
    {
        memcpy(&rows[n], from + n * width, sizeof rows[n]);
    }
    byte_rows_transpose(rows);
    if (channels == TRANSPOSE_BYTES && count == TRANSPOSE_BYTES) {
        TRANSPOSE_UNROLL for (int n = 0; n < TRANSPOSE_BYTES; n++)
        {
            memcpy(to + n * step, &rows[n], sizeof rows[n]);
        }
        return;
    }
    for (int64_t n = 0; n < channels; n++) {
        byte_row_copy(to + n * step, (const uint8_t *)&rows[n], count);
    }
}

VECTOR_FUNCTION void
turn_bytes_body(const Turn *turn)
{
    const uint8_t *from = turn->from;
    for (int64_t channel = 0; channel < turn->channels; channel += TRANSPOSE_BYTES) {
        int64_t channels = smaller_of(turn->channels - channel, TRANSPOSE_BYTES);
        for (int64_t first = 0; first < turn->count; first += TRANSPOSE_BYTES) {
            int64_t count = smaller_of(turn->count - first, TRANSPOSE_BYTES);
            turn_sixteen(from + first * turn->width + channel, turn->width, channels, count, turn->step,
                (uint8_t *)turn->to + channel * turn->step + first);
        }
    }
}
VECTOR_VARIANTS(turn_bytes, (const Turn *turn), (turn))

VECTOR_FUNCTION void
turn_words_body(const Turn *turn)
{
    const int32_t *from = turn->from;
    for (int64_t channel = 0; channel < turn->channels; channel += TRANSPOSE_WORDS) {
        int64_t channels = smaller_of(turn->channels - channel, TRANSPOSE_WORDS);
        for (int64_t first = 0; first < turn->count; first += TRANSPOSE_WORDS) {
            int64_t count = smaller_of(turn->count - first, TRANSPOSE_WORDS);
            int32_t *to = (int32_t *)turn->to + channel * turn->step + first;
            WordRow rows[TRANSPOSE_WORDS];
            TRANSPOSE_UNROLL for (int n = 0; n < TRANSPOSE_WORDS; n++)
            {
                memcpy(
                    &rows[n], from + (first + (n < count ? n : 0)) * turn->width + channel, sizeof rows[n]);
            }
            word_rows_transpose(rows);
            for (int64_t n = 0; n < channels; n++) {
                byte_row_copy((uint8_t *)(to + n * turn->step), (const uint8_t *)&rows[n],
                    count * (int64_t)sizeof(int32_t));
            }
        }
    }
}
VECTOR_VARIANTS(turn_words, (const Turn *turn), (turn))

static void
write_tile(const Job *job, const Tile *tile, const int32_t *sums)
{
    const ByteConvolve *convolve = job->convolve;
    const ByteFilterShape *shape = &convolve->shape;
    int64_t channel = tile->panel * PANEL;
    int64_t line =
        (job->first + tile->entry) * shape->groups * shape->outputs + tile->group * shape->outputs + channel;
    int64_t offset = line * convolve->positions + tile->first;
    Turn turn = {.from = sums,
        .width = tile->width,
        .count = tile->count,
        .channels = smaller_of(tile->width, shape->outputs - channel),
        .step = convolve->positions};
    if (convolve->scales == NULL) {
        turn.to = (int32_t *)convolve->output + offset;
        turn_words(&turn);
        return;
    }
    uint8_t bytes[TILE_POSITIONS * PANEL]; /* whole squares are read, of which some may be undefined */
    const float *scales = convolve->scales + tile->group * byte_filter_lanes(shape) + channel;
    scale_sums_rows(&convolve->to, sums, scales, tile->width, tile->count, bytes);
    turn.from = bytes;
    turn.to = (uint8_t *)convolve->output + offset;
    turn_bytes(&turn);
}

static void
convolve_tile(void *context, int64_t item)
{
    const Job *job = context;
    int32_t sums[TILE_POSITIONS * PANEL];
    Tile tile = find_tile(job, item);
    multiply_tile(job, &tile, sums);
    if (job->pixel_sums != NULL) {
        subtract_filter_zeros(job, &tile, sums);
    }
    write_tile(job, &tile, sums);
}

/* Turns and multiplies as many images at a time as a cache holds. */
static void
run_batch(Device *device, Job *job, int64_t at_once)
{
    const ByteConvolve *convolve = job->convolve;
    for (job->first = 0; job->first < convolve->batch; job->first += at_once) {
        job->entries = smaller_of(at_once, convolve->batch - job->first);
        device->parallel_for(device, job->entries * job->parts, turn_lines, job);
        device->parallel_for(
            device, convolve->shape.groups * job->panels * job->entries * job->tiles, convolve_tile, job);
    }
}

Status
byte_convolve_run(KernelContext *context, const ByteConvolve *convolve)
{
    const ByteImage *image = &convolve->image;
    AUTO_TENSOR images = {0};
    AUTO_TENSOR sums = {0};
    AUTO_TENSOR taps = {0};
    Job job = {.convolve = convolve,
        .entry_size = image->pixels * image->pixel_step,
        .panels = divide_up(byte_filter_lanes(&convolve->shape), PANEL),
        .tiles = divide_up(convolve->positions, TILE_POSITIONS)};
    int64_t at_once = smaller_of(larger_of(TURNED_AT_ONCE / job.entry_size, 1), convolve->batch);
    job.part = larger_of(LINES_SIZE / (job.entry_size / image->lines), 1);
    job.parts = divide_up(image->lines, job.part);
    TRY(scratch_bytes(context, at_once, (size_t)job.entry_size, &images));
    TRY(scratch_bytes(context, 2 * convolve->shape.taps, sizeof(int64_t), &taps));
    if (convolve->zeros != NULL) {
        TRY(scratch_bytes(context, at_once * image->pixels * image->groups, sizeof(int32_t), &sums));
    }
    int64_t *pixel_taps = taps.data;
    int64_t *byte_taps = pixel_taps + convolve->shape.taps;
    byte_image_taps(image, pixel_taps);
    for (int64_t tap = 0; tap < convolve->shape.taps; tap++) {
        byte_taps[tap] = pixel_taps[tap] * image->pixel_step;
    }
    job.images = images.data;
    job.pixel_sums = sums.data;
    job.pixel_taps = pixel_taps;
    job.byte_taps = byte_taps;
    run_batch(context->device, &job, at_once);
    return STATUS_OK;
}
