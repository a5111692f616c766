/* RaggedTensorToTensor. From the outermost dimension inwards, every value gets its place in the output: a
 * place is a row of the output so far, and each partition makes of the places of its rows those of its
 * values. Values for which the output has no room have no place, nor have the values below them. */
#include "shared/ops/ragged/rule.h"
#include "worker/reference/moved_strings.h"
#include "worker/reference/moves.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"
#include "worker/reference/walk.h"

enum { NO_PLACE = -1 };

/* The places of the rows of a dimension. */
typedef struct Places {
    Tensor tensor; /* int64 */
    int64_t count;
} Places;

typedef struct Level {
    const Tensor *partition;
    RaggedPartition kind;
    int64_t values;
} Level;

static int64_t
number_at(const Tensor *tensor, int64_t n)
{
    int64_t number = 0;
    return tensor_to_int64(tensor, n, &number) ? number : -1; /* -1 is refused */
}

static Status
check_splits(Call *call, const Tensor *splits, int64_t rows)
{
    int64_t before = 0;
    if (tensor_element_count(splits) != rows + 1 || number_at(splits, 0) != 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "row splits of %lld rows are %lld numbers from 0 on, not %lld", (long long)rows,
            (long long)rows + 1, (long long)tensor_element_count(splits));
    }
    for (int64_t n = 0; n <= rows; n++) {
        int64_t split = number_at(splits, n);
        if (split < before) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "row split %lld is %lld, below %lld before it",
                (long long)n, (long long)split, (long long)before);
        }
        before = split;
    }
    return STATUS_OK;
}

static Status
check_ids(Call *call, const Tensor *ids, int64_t rows)
{
    int64_t before = 0;
    for (int64_t n = 0; n < tensor_element_count(ids); n++) {
        int64_t id = number_at(ids, n);
        if (id < before || id >= rows) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "row id %lld at %lld is not from %lld to %lld",
                (long long)id, (long long)n, (long long)before, (long long)rows - 1);
        }
        before = id;
    }
    return STATUS_OK;
}

static Status
read_level(KernelContext *context, uint32_t index, int64_t rows, Level *ret_level)
{
    const Tensor *partition = &context->inputs[RAGGED_PARTITIONS + index];
    RaggedPartition kind = ragged_partition(context->node, index);
    bool is_splits = kind == RAGGED_ROW_SPLITS;
    if (partition->shape.rank != 1) {
        return call_fail(
            context->call, STATUS_INVALID_ARGUMENT, "partition %u of the rows is no vector", index);
    }
    TRY(is_splits ? check_splits(context->call, partition, rows) : check_ids(context->call, partition, rows));
    int64_t values = is_splits ? number_at(partition, rows) : tensor_element_count(partition);
    *ret_level = (Level){.partition = partition, .kind = kind, .values = values};
    return STATUS_OK;
}

/* Calls of next_value() tell of each value the row that it is in and its position there. */
typedef struct LevelWalk {
    const Level *level;
    int64_t value; /* the next one */
    int64_t row;
    int64_t column;
} LevelWalk;

static bool
next_value(LevelWalk *walk)
{
    const Level *level = walk->level;
    if (walk->value == level->values) {
        return false;
    }
    int64_t row = walk->row;
    if (level->kind == RAGGED_ROW_IDS) {
        row = number_at(level->partition, walk->value);
    } else {
        for (row = row < 0 ? 0 : row; number_at(level->partition, row + 1) <= walk->value;) {
            row++;
        }
    }
    walk->column = row == walk->row ? walk->column + 1 : 0;
    walk->row = row;
    walk->value++;
    return true;
}

static int64_t
longest_row(const Level *level)
{
    int64_t longest = 0;
    LevelWalk walk = {.level = level, .row = -1};
    while (next_value(&walk)) {
        longest = walk.column >= longest ? walk.column + 1 : longest;
    }
    return longest;
}

static Status
places_new(KernelContext *context, int64_t count, Places *ret_places)
{
    Shape vector = shape_vector(count);
    ret_places->count = count;
    return scratch_new(context, DTYPE_INT64, &vector, &ret_places->tensor);
}

/* The rows of the first dimension lie in the output as they are. */
static Status
place_rows(KernelContext *context, uint32_t *ret_level, int64_t *size, Places *ret_places)
{
    const Tensor *first = &context->inputs[RAGGED_PARTITIONS];
    bool is_counted = ragged_partition(context->node, 0) == RAGGED_ROW_COUNT;
    int64_t rows = is_counted ? number_at(first, 0) : tensor_element_count(first) - 1;
    if ((is_counted && first->shape.rank != 0) || rows < 0) {
        return call_fail(
            context->call, STATUS_INVALID_ARGUMENT, "the first partition tells no number of rows");
    }
    *size = *size < 0 ? rows : *size;
    TRY(places_new(context, rows, ret_places));
    for (int64_t row = 0; row < rows; row++) {
        ((int64_t *)ret_places->tensor.data)[row] = row < *size ? row : NO_PLACE;
    }
    *ret_level = is_counted ? 1 : 0;
    return STATUS_OK;
}

/* Makes the places of the values of `rows`, of which the output holds `width` a row. */
static Status
place_values(KernelContext *context, const Level *level, int64_t width, Places *places)
{
    Places rows = *places;
    *places = (Places){0};
    Status status = places_new(context, level->values, places);
    LevelWalk walk = {.level = level, .row = -1};
    while (status == STATUS_OK && next_value(&walk)) {
        int64_t row = ((const int64_t *)rows.tensor.data)[walk.row];
        bool has_room = row != NO_PLACE && walk.column < width;
        ((int64_t *)places->tensor.data)[walk.value - 1] = has_room ? row * width + walk.column : NO_PLACE;
    }
    tensor_unref(&rows.tensor);
    return status;
}

/* Places all values, and tells those sizes of the output that are left open. */
static Status
place_all(KernelContext *context, Shape *shape, Places *places)
{
    uint32_t first = 0;
    uint32_t levels = context->input_count - RAGGED_PARTITIONS;
    TRY(place_rows(context, &first, &shape->dims[0], places));
    for (uint32_t index = first; index < levels; index++) {
        Level level;
        int64_t *width = &shape->dims[index - first + 1];
        TRY(read_level(context, index, places->count, &level));
        *width = *width < 0 ? longest_row(&level) : *width;
        TRY(place_values(context, &level, *width, places));
    }
    int64_t values = context->inputs[RAGGED_VALUES].shape.dims[0];
    if (places->count != values) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT,
            "the partitions tell of %lld values, not of %lld", (long long)places->count, (long long)values);
    }
    return STATUS_OK;
}

/* Fills the output with the default value, which broadcasts to what stands at a place. */
static Status
fill_default(KernelContext *context, const Shape *element, Tensor *output)
{
    const Tensor *given = &context->inputs[RAGGED_DEFAULT];
    size_t size = dtype_size(output->dtype);
    size_t count = (size_t)tensor_element_count(output);
    bool fits = given->shape.rank <= element->rank;
    for (int n = 1; fits && n <= given->shape.rank; n++) {
        int64_t own = given->shape.dims[given->shape.rank - n];
        fits = own == 1 || own == element->dims[element->rank - n];
    }
    if (!fits) {
        return call_fail(
            context->call, STATUS_INVALID_ARGUMENT, "the default value does not broadcast to a value");
    }
    Walk walk = walk_broadcast(&given->shape, element);
    for (size_t n = 0; n < count; n++) {
        memcpy((char *)output->data + n * size, (const char *)given->data + (size_t)walk.offset * size, size);
        (void)walk_next(&walk);
    }
    return STATUS_OK;
}

static void
copy_values(const Tensor *values, const Places *places, Tensor *output)
{
    size_t size = places->count == 0 ? 0 : (size_t)tensor_byte_size(values) / (size_t)places->count;
    for (int64_t n = 0; size > 0 && n < places->count; n++) {
        int64_t place = ((const int64_t *)places->tensor.data)[n];
        if (place != NO_PLACE) {
            memcpy((char *)output->data + (size_t)place * size, (const char *)values->data + (size_t)n * size,
                size);
        }
    }
}

static Status
write_output(KernelContext *context, const Shape *shape, const Places *places)
{
    const Tensor *values = &context->inputs[RAGGED_VALUES];
    Tensor *output = NULL;
    Shape element = {.rank = values->shape.rank - 1};
    memcpy(element.dims, values->shape.dims + 1, (size_t)element.rank * sizeof *element.dims);
    TRY(kernel_output(context, 0, values->dtype, shape, &output));
    TRY(fill_default(context, &element, output));
    copy_values(values, places, output);
    return STATUS_OK;
}

static Status
to_tensor_compute(KernelContext *context)
{
    Shape shape;
    Places places = {0};
    TRY(output_rule(context, &shape));
    Status status = place_all(context, &shape, &places);
    if (status == STATUS_OK) {
        status = write_output(context, &shape, &places);
    }
    tensor_unref(&places.tensor);
    return status;
}

static bool
supports_copyable(const Node *node)
{
    return dtype_is_copyable(node->input_dtypes[RAGGED_VALUES]);
}

static const Kernel ragged_kernels[] = {
    {.op = "RaggedTensorToTensor", .supports = supports_copyable, .compute = to_tensor_compute},
    MOVED_STRINGS("RaggedTensorToTensor", second),
};

KERNEL_FAMILY(reference, ragged, ragged_kernels);
