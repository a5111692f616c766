/* The different slices along an axis, in the order of their first appearance, found by a hash table. NaN
 * equals nothing, 0 equals -0. */
#include <assert.h>

#include "shared/base/memory.h"
#include "worker/reference/elements.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"
#include "worker/reference/texts.h"

typedef struct ElementKind {
    uint64_t (*hash)(const void *element);
    bool (*equal)(const void *left, const void *right);
    bool (*is_less)(const void *left, const void *right); /* NaN is the greatest */
} ElementKind;

static uint64_t
mix_hash(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15;
    return hash ^ hash >> 32;
}

#define KIND_LOOP(name, unused, upper, lower, storage, compute, read, write)                                 \
    static uint64_t name##_hash_##lower(const void *element)                                                 \
    {                                                                                                        \
        compute a = read(*(const storage *)element);                                                         \
        compute value = a == 0 ? (compute)0 : a;                                                             \
        uint64_t bits = 0;                                                                                   \
        memcpy(&bits, &value, sizeof value);                                                                 \
        return bits;                                                                                         \
    }                                                                                                        \
    static bool name##_equal_##lower(const void *left, const void *right)                                    \
    {                                                                                                        \
        compute a = read(*(const storage *)left);                                                            \
        compute b = read(*(const storage *)right);                                                           \
        return a == b;                                                                                       \
    }                                                                                                        \
    static bool name##_is_less_##lower(const void *left, const void *right)                                  \
    {                                                                                                        \
        compute a = read(*(const storage *)left);                                                            \
        compute b = read(*(const storage *)right);                                                           \
        return a < b || (a == a && b != b);                                                                  \
    }

REAL_ELEMENTS(KIND_LOOP, element, )
BOOL_ELEMENTS(KIND_LOOP, element, )

static uint64_t
string_hash(const void *element)
{
    const Slice *slice = element;
    uint64_t hash = slice->size;
    for (size_t n = 0; n < slice->size; n++) {
        hash = mix_hash(hash, (unsigned char)slice->data[n]);
    }
    return hash;
}

static bool
string_equal(const void *left, const void *right)
{
    return slice_equal(*(const Slice *)left, *(const Slice *)right);
}

static bool
string_is_less(const void *left, const void *right)
{
    return slice_compare(*(const Slice *)left, *(const Slice *)right) < 0;
}

#define KIND_ROW(name, upper, lower, ...)                                                                    \
    [DTYPE_##upper] = {element_hash_##lower, element_equal_##lower, element_is_less_##lower},
static const ElementKind kinds[DTYPE_COUNT] = {
    REAL_ELEMENTS(KIND_ROW, )
        BOOL_ELEMENTS(KIND_ROW, )[DTYPE_STRING] = {string_hash, string_equal, string_is_less}};

static bool
supports_unique(const Node *node)
{
    return kinds[node->input_dtypes[0]].hash != NULL &&
           (node->output_dtypes[1] == DTYPE_INT32 || node->output_dtypes[1] == DTYPE_INT64);
}

typedef struct Unique {
    ElementKind kind;
    const char *data;
    size_t size; /* bytes of an element */
    Lines lines;
    int64_t *table; /* indexes into `firsts`, plus 1; 0 is a free entry */
    int64_t table_size;
    int64_t *firsts; /* slices that differ from all before them */
    int64_t *counts;
    int64_t *indices; /* for each slice, its index in `firsts` */
    int64_t found;
} Unique;

static const void *
element_of(const Unique *unique, int64_t slice, int64_t n)
{
    const Lines *lines = &unique->lines;
    int64_t element = (n / lines->inner * lines->size + slice) * lines->inner + n % lines->inner;
    return unique->data + (size_t)element * unique->size;
}

static uint64_t
hash_slice(const Unique *unique, int64_t slice)
{
    uint64_t hash = 0;
    for (int64_t n = 0; n < unique->lines.outer * unique->lines.inner; n++) {
        hash = mix_hash(hash, unique->kind.hash(element_of(unique, slice, n)));
    }
    return hash;
}

static bool
equal_slices(const Unique *unique, int64_t left, int64_t right)
{
    for (int64_t n = 0; n < unique->lines.outer * unique->lines.inner; n++) {
        if (!unique->kind.equal(element_of(unique, left, n), element_of(unique, right, n))) {
            return false;
        }
    }
    return true;
}

static void
add_slice(Unique *unique, int64_t slice)
{
    int64_t slot = (int64_t)(hash_slice(unique, slice) % (uint64_t)unique->table_size);
    while (
        unique->table[slot] != 0 && !equal_slices(unique, unique->firsts[unique->table[slot] - 1], slice)) {
        slot = slot + 1 == unique->table_size ? 0 : slot + 1;
    }
    if (unique->table[slot] == 0) {
        unique->firsts[unique->found] = slice;
        unique->table[slot] = ++unique->found;
    }
    unique->indices[slice] = unique->table[slot] - 1;
    unique->counts[unique->table[slot] - 1]++;
}

static void
store_slices(const Unique *unique, Tensor *output)
{
    const Lines *lines = &unique->lines;
    bool is_empty = lines->inner == 0 || unique->found == 0;
    int64_t outer_count = is_empty ? 0 : lines->outer; /* slices may have no elements, or be none */
    for (int64_t outer = 0; outer < outer_count; outer++) {
        for (int64_t position = 0; position < unique->found; position++) {
            memcpy((char *)output->data +
                       (size_t)((outer * unique->found + position) * lines->inner) * unique->size,
                element_of(unique, unique->firsts[position], outer * lines->inner),
                (size_t)lines->inner * unique->size);
        }
    }
}

static Status
store_strings(KernelContext *context, const Unique *unique, const Shape *shape)
{
    AUTO_TENSOR table = {0};
    TRY(scratch_array(context, unique->found, sizeof(Slice), &table));
    Slice *strings = table.data;
    for (int64_t position = 0; position < unique->found; position++) {
        strings[position] = *(const Slice *)element_of(unique, unique->firsts[position], 0);
    }
    return texts_new(context, shape, strings, &context->outputs[0]);
}

static Status
store_numbers(KernelContext *context, uint32_t index, const int64_t *numbers, int64_t count)
{
    Shape shape = shape_vector(count);
    Tensor *output = NULL;
    TRY(kernel_output(context, index, context->node->output_dtypes[index], &shape, &output));
    for (int64_t n = 0; n < count; n++) {
        if (output->dtype == DTYPE_INT64) {
            ((int64_t *)output->data)[n] = numbers[n];
        } else {
            ((int32_t *)output->data)[n] = (int32_t)numbers[n];
        }
    }
    return STATUS_OK;
}

static Status
store_unique(KernelContext *context, Unique *unique, int axis)
{
    const Tensor *input = &context->inputs[0];
    Shape shape = input->shape;
    shape.dims[axis] = unique->found;
    if (input->dtype == DTYPE_STRING) {
        TRY(store_strings(context, unique, &shape));
    } else {
        Tensor *output = NULL;
        TRY(kernel_output(context, 0, input->dtype, &shape, &output));
        store_slices(unique, output);
    }
    TRY(store_numbers(context, 1, unique->indices, unique->lines.size));
    return context->output_count > 2 ? store_numbers(context, 2, unique->counts, unique->found) : STATUS_OK;
}

static Status
read_axis(KernelContext *context, int *ret_axis)
{
    Shape shapes[3];
    int64_t axis = 0;
    size_t count = 0;
    TRY(output_rule(context, shapes));
    if (context->input_count > 1) {
        TRY(kernel_input_ints(context, 1, &axis, 1, &count));
    }
    int rank = context->inputs[0].shape.rank;
    *ret_axis = (int)(axis < 0 ? axis + rank : axis);
    return context->inputs[0].dtype == DTYPE_STRING && rank != 1
               ? call_fail(
                     context->call, STATUS_UNIMPLEMENTED, "strings are told apart in one dimension only")
               : STATUS_OK;
}

/* Finds the slices along an axis, and has them stored. */
static Status
run_unique(KernelContext *context, Lines lines, int axis,
    Status (*store)(KernelContext *context, Unique *unique, int axis))
{
    const Tensor *input = &context->inputs[0];
    Unique unique = {.kind = kinds[input->dtype],
        .data = input->data,
        .size = input->dtype == DTYPE_STRING ? sizeof(Slice) : dtype_size(input->dtype),
        .lines = lines};
    unique.table_size = 2 * unique.lines.size + 1;
    size_t count = (size_t)unique.lines.size;
    AUTO_MEMORY int64_t *numbers = memory_new(3 * count + (size_t)unique.table_size, sizeof *numbers);
    if (numbers == NULL) {
        return call_fail_memory(context->call, "a table of unique elements");
    }
    unique.firsts = numbers;
    unique.counts = numbers + count;
    unique.indices = numbers + 2 * count;
    unique.table = numbers + 3 * count;
    for (int64_t slice = 0; slice < unique.lines.size; slice++) {
        add_slice(&unique, slice);
    }
    return store(context, &unique, axis);
}

static Status
compute_unique(KernelContext *context)
{
    int axis = 0;
    TRY(read_axis(context, &axis));
    return run_unique(context, lines_along(&context->inputs[0].shape, axis), axis, store_unique);
}

static bool
is_less_slice(const Unique *unique, int64_t left, int64_t right)
{
    for (int64_t n = 0; n < unique->lines.outer * unique->lines.inner; n++) {
        const void *a = element_of(unique, left, n);
        const void *b = element_of(unique, right, n);
        if (unique->kind.is_less(a, b) || unique->kind.is_less(b, a)) {
            return unique->kind.is_less(a, b);
        }
    }
    return false;
}

/* Merges two sorted stretches of found slices: order[first…middle) and order[middle…end). Of slices that are
 * neither less nor equal, as those with NaN, the first comes first. */
static void
merge_stretches(
    const Unique *unique, const int64_t *from, int64_t first, int64_t middle, int64_t end, int64_t *to)
{
    int64_t left = first;
    int64_t right = middle;
    for (int64_t n = first; n < end; n++) {
        bool takes_right =
            left == middle ||
            (right < end && is_less_slice(unique, unique->firsts[from[right]], unique->firsts[from[left]]));
        to[n] = from[takes_right ? right++ : left++];
    }
}

/* Fills order[found] with the numbers of the found slices, sorted; `room` has as many. */
static int64_t *
sort_found(const Unique *unique, int64_t *order, int64_t *room)
{
    for (int64_t n = 0; n < unique->found; n++) {
        order[n] = n;
    }
    for (int64_t size = 1; size < unique->found; size *= 2) {
        for (int64_t first = 0; first < unique->found; first += 2 * size) {
            int64_t middle = first + size < unique->found ? first + size : unique->found;
            int64_t end = middle + size < unique->found ? middle + size : unique->found;
            merge_stretches(unique, order, first, middle, end, room);
        }
        int64_t *sorted = room;
        room = order;
        order = sorted;
    }
    return order;
}

/* Puts what was found into ascending order. */
static Status
order_found(Unique *unique)
{
    size_t count = (size_t)unique->found;
    AUTO_MEMORY int64_t *numbers = memory_new(4 * count + 1, sizeof *numbers);
    if (numbers == NULL) {
        return STATUS_RESOURCE_EXHAUSTED;
    }
    const int64_t *order = sort_found(unique, numbers, numbers + count);
    int64_t *ranks = numbers + 2 * count;
    int64_t *moved = numbers + 3 * count;
    for (int64_t n = 0; n < unique->found; n++) {
        ranks[order[n]] = n;
        moved[n] = unique->firsts[order[n]];
    }
    memcpy(unique->firsts, moved, count * sizeof *moved);
    for (int64_t n = 0; n < unique->found; n++) {
        moved[n] = unique->counts[order[n]];
    }
    memcpy(unique->counts, moved, count * sizeof *moved);
    for (int64_t slice = 0; slice < unique->lines.size; slice++) {
        unique->indices[slice] = ranks[unique->indices[slice]];
    }
    return STATUS_OK;
}

static Status
store_found(KernelContext *context, const Unique *unique, const Shape *shape)
{
    Tensor *output = NULL;
    if (context->inputs[0].dtype == DTYPE_STRING) {
        return store_strings(context, unique, shape);
    }
    TRY(kernel_output(context, 0, context->inputs[0].dtype, shape, &output));
    store_slices(unique, output);
    return STATUS_OK;
}

/* `axis` -1: elements are told apart. */
static Status
store_onnx_unique(KernelContext *context, Unique *unique, int axis)
{
    if (node_attr_int(context->node, "sorted") != 0 && order_found(unique) != STATUS_OK) {
        return call_fail_memory(context->call, "the order of unique elements");
    }
    Shape shape = axis < 0 ? shape_vector(unique->found) : context->inputs[0].shape;
    shape.dims[axis < 0 ? 0 : axis] = unique->found;
    TRY(store_found(context, unique, &shape));
    const int64_t *numbers[] = {NULL, unique->firsts, unique->indices, unique->counts};
    const int64_t counts[] = {0, unique->found, unique->lines.size, unique->found};
    uint32_t output_count = context->output_count;
    assert(output_count <= COUNT_OF(numbers));
    for (uint32_t index = 1; index < output_count; index++) {
        TRY(store_numbers(context, index, numbers[index], counts[index]));
    }
    return STATUS_OK;
}

static Status
compute_onnx_unique(KernelContext *context)
{
    const Tensor *input = &context->inputs[0];
    Shape shapes[4];
    TRY(output_rule(context, shapes));
    int64_t axis = node_attr_int(context->node, "axis");
    if (axis == INT64_MIN) {
        Lines lines = {.outer = 1, .size = tensor_element_count(input), .inner = 1};
        return run_unique(context, lines, -1, store_onnx_unique);
    }
    axis += axis < 0 ? input->shape.rank : 0;
    if (input->dtype == DTYPE_STRING && input->shape.rank != 1) {
        return call_fail(context->call, STATUS_UNIMPLEMENTED, "strings are told apart in one dimension only");
    }
    return run_unique(context, lines_along(&input->shape, (int)axis), (int)axis, store_onnx_unique);
}

static bool
supports_onnx_unique(const Node *node)
{
    return kinds[node->input_dtypes[0]].hash != NULL;
}

static const Kernel unique_kernels[] = {
    {.op = "Unique", .supports = supports_unique, .compute = compute_unique},
    {.op = "UniqueV2", .supports = supports_unique, .compute = compute_unique, .host_inputs = 1 << 1},
    {.op = "UniqueWithCounts", .supports = supports_unique, .compute = compute_unique},
    {.op = "UniqueWithCountsV2",
        .supports = supports_unique,
        .compute = compute_unique,
        .host_inputs = 1 << 1},
    {.op = "onnx::Unique", .supports = supports_onnx_unique, .compute = compute_onnx_unique},
};

KERNEL_FAMILY(reference, count_unique, unique_kernels);
