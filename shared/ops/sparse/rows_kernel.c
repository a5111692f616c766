/* Sparse tensors reordered, reshaped, sliced and concatenated, in TensorFlow's form: the indices [n, rank] of
 * their elements, the elements [n], and the dense shape. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "shared/base/buffer.h"
#include "worker/reference/fill.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"
#include "worker/reference/texts.h"
#include "worker/reference/wide.h"

typedef struct Sparse {
    const int64_t *positions; /* the coordinates of element n begin at n × rank */
    const Tensor *values;
    int64_t count;
    Shape shape;
} Sparse;

static inline const int64_t *
sparse_position(const Sparse *sparse, int64_t n)
{
    return sparse->positions + n * sparse->shape.rank;
}

/* Elements of other tensors at new coordinates, in the order they are added. */
typedef struct SparseResult {
    int rank;
    Buffer positions; /* int64_t: `rank` coordinates for each element */
    Buffer elements;  /* the element that each one copies */
} SparseResult;

static void
sparse_result_done(SparseResult *result)
{
    buffer_done(&result->positions);
    buffer_done(&result->elements);
}
#define AUTO_SPARSE_RESULT CLEANUP(sparse_result_done) SparseResult

typedef struct Element {
    const Tensor *values;
    int64_t index;
} Element;

static Status
check_positions(KernelContext *context, const Sparse *sparse)
{
    for (int64_t n = 0; n < sparse->count; n++) {
        for (int dimension = 0; dimension < sparse->shape.rank; dimension++) {
            int64_t index = sparse_position(sparse, n)[dimension];
            if (index < 0 || index >= sparse->shape.dims[dimension]) {
                return call_fail(context->call, STATUS_INVALID_ARGUMENT,
                    "coordinate %d of sparse element %lld is %lld, not within %lld", dimension, (long long)n,
                    (long long)index, (long long)sparse->shape.dims[dimension]);
            }
        }
    }
    return STATUS_OK;
}

/* Reads a sparse tensor from the inputs `indices`, `values` and `shape` of a running kernel; every element
 * is inside. */
static Status
sparse_read(KernelContext *context, uint32_t indices, uint32_t values, uint32_t shape, Sparse *ret_sparse)
{
    const Tensor *positions = &context->inputs[indices];
    const Tensor *elements = &context->inputs[values];
    Sparse sparse = {
        .positions = positions->data, .values = elements, .count = tensor_element_count(elements)};
    size_t rank = 0;
    TRY(kernel_input_ints(context, shape, sparse.shape.dims, SHAPE_RANK_MAX, &rank));
    sparse.shape.rank = (int)rank;
    if (positions->shape.rank != 2 || elements->shape.rank != 1 || positions->shape.dims[0] != sparse.count ||
        positions->shape.dims[1] != (int64_t)rank || rank == 0) {
        char left[SHAPE_TEXT_SIZE];
        char right[SHAPE_TEXT_SIZE];
        return call_fail(context->call, STATUS_INVALID_ARGUMENT,
            "indices of shape %s and elements of shape %s are no sparse tensor of rank %zu",
            shape_text(&positions->shape, left), shape_text(&elements->shape, right), rank);
    }
    TRY(check_positions(context, &sparse));
    *ret_sparse = sparse;
    return STATUS_OK;
}

/* Returns an empty result. */
static SparseResult
sparse_result(const KernelContext *context, int rank)
{
    size_t size_max = scratch_heap_max(context);
    return (SparseResult){.rank = rank, .positions.size_max = size_max, .elements.size_max = size_max};
}

static void
sparse_add(SparseResult *result, const int64_t *position, const Tensor *values, int64_t index)
{
    Element element = {.values = values, .index = index};
    buffer_append(&result->positions, position, (size_t)result->rank * sizeof *position);
    buffer_append(&result->elements, &element, sizeof element);
}

static int64_t
result_count(const SparseResult *result)
{
    return (int64_t)(result->elements.size / sizeof(Element));
}

static bool
is_whole(const SparseResult *result)
{
    return buffer_is_ok(&result->positions) && buffer_is_ok(&result->elements);
}

typedef struct Sortable {
    const int64_t *position;
    int dimensions; /* the first dimensions, by which elements are compared */
    int64_t index;
} Sortable;

static int
compare_positions(const void *left, const void *right)
{
    const Sortable *a = left;
    const Sortable *b = right;
    for (int dimension = 0; dimension < a->dimensions; dimension++) {
        if (a->position[dimension] != b->position[dimension]) {
            return a->position[dimension] < b->position[dimension] ? -1 : 1;
        }
    }
    return (a->index > b->index) - (a->index < b->index);
}

/* Sorts by the first `dimensions` coordinates; elements equal in them keep their order. */
static Status
sparse_sort(KernelContext *context, SparseResult *result, int dimensions)
{
    int64_t count = result_count(result);
    AUTO_TENSOR table = {0};
    AUTO_SPARSE_RESULT sorted = sparse_result(context, result->rank);
    TRY(scratch_array(context, count, sizeof(Sortable), &table));
    Sortable *order = table.data;
    if (!is_whole(result)) {
        return call_fail_memory(context->call, "sparse elements");
    }
    const int64_t *positions = (const int64_t *)(const void *)result->positions.data;
    const Element *elements = (const Element *)(const void *)result->elements.data;
    for (int64_t n = 0; n < count; n++) {
        order[n] = (Sortable){.position = positions + n * result->rank, .dimensions = dimensions, .index = n};
    }
    qsort(order, (size_t)count, sizeof *order, compare_positions);
    for (int64_t n = 0; n < count; n++) {
        const Element *element = &elements[order[n].index];
        sparse_add(&sorted, order[n].position, element->values, element->index);
    }
    SparseResult unsorted = *result;
    *result = sorted;
    sorted = unsorted;
    return STATUS_OK;
}

static Status
finish_strings(KernelContext *context, uint32_t index, const Shape *shape, const Element *elements)
{
    AUTO_TENSOR table = {0};
    TRY(scratch_array(context, shape->dims[0], sizeof(Slice), &table));
    Slice *strings = table.data;
    for (int64_t n = 0; n < shape->dims[0]; n++) {
        strings[n] = ((const Slice *)elements[n].values->data)[elements[n].index];
    }
    return texts_new(context, shape, strings, &context->outputs[index]);
}

static Status
finish_elements(KernelContext *context, uint32_t index, const Shape *shape, const Element *elements)
{
    assert(elements != NULL || shape->dims[0] == 0);

    Dtype dtype = context->node->output_dtypes[index];
    size_t size = dtype_size(dtype);
    Tensor *output = NULL;
    if (dtype == DTYPE_STRING) {
        return finish_strings(context, index, shape, elements);
    }
    TRY(kernel_output(context, index, dtype, shape, &output));
    for (int64_t n = 0; n < shape->dims[0]; n++) {
        memcpy((char *)output->data + (size_t)n * size,
            (const char *)elements[n].values->data + (size_t)elements[n].index * size, size);
    }
    return STATUS_OK;
}

/* Makes output `index` from the indices, and the next one from the elements. */
static Status
sparse_finish(KernelContext *context, uint32_t index, const SparseResult *result)
{
    Shape vector = shape_vector(result_count(result));
    Shape matrix = {.rank = 2, .dims = {vector.dims[0], result->rank}};
    Tensor *positions = NULL;
    if (!is_whole(result)) {
        return call_fail_memory(context->call, "sparse elements");
    }
    TRY(kernel_output(context, index, DTYPE_INT64, &matrix, &positions));
    if (result->positions.size > 0) {
        memcpy(positions->data, result->positions.data, result->positions.size);
    }
    return finish_elements(context, index + 1, &vector, (const Element *)(const void *)result->elements.data);
}

/* Makes output `index`, a vector of integers: a shape as a tensor. */
static Status
sparse_shape_output(KernelContext *context, uint32_t index, const Shape *shape)
{
    Shape vector = shape_vector(shape->rank);
    Tensor *output = NULL;
    TRY(kernel_output(context, index, DTYPE_INT64, &vector, &output));
    if (shape->rank > 0) {
        memcpy(output->data, shape->dims, (size_t)shape->rank * sizeof *shape->dims);
    }
    return STATUS_OK;
}

static Status
reorder_compute(KernelContext *context)
{
    Sparse sparse;
    TRY(sparse_read(context, 0, 1, 2, &sparse));
    AUTO_SPARSE_RESULT result = sparse_result(context, sparse.shape.rank);
    for (int64_t n = 0; n < sparse.count; n++) {
        sparse_add(&result, sparse_position(&sparse, n), sparse.values, n);
    }
    TRY(sparse_sort(context, &result, result.rank));
    return sparse_finish(context, 0, &result);
}

/* One dimension of the new shape may be -1, and follows from the others. */
static Status
read_new_shape(KernelContext *context, const Shape *old, Shape *ret_shape)
{
    Shape shape = shape_scalar();
    size_t rank = 0;
    int64_t product = 1;
    int64_t count = 0;
    int open = -1;
    TRY(kernel_input_ints(context, 2, shape.dims, SHAPE_RANK_MAX, &rank));
    shape.rank = (int)rank;
    for (int index = 0; index < shape.rank; index++) {
        bool is_open = shape.dims[index] == -1;
        if (shape.dims[index] < -1 || (is_open && open >= 0)) {
            return call_fail(context->call, STATUS_INVALID_ARGUMENT, "dimension %d of the new shape is %lld",
                index, (long long)shape.dims[index]);
        }
        open = is_open ? index : open;
        if (!is_open && __builtin_mul_overflow(product, shape.dims[index], &product)) {
            return call_fail(context->call, STATUS_INVALID_ARGUMENT, "the new shape has too many elements");
        }
    }
    bool is_counted = shape_element_count(old, &count);
    if (open >= 0 && product > 0) {
        shape.dims[open] = count / product;
        product *= shape.dims[open];
    }
    if (!is_counted || product != count || (open >= 0 && shape.dims[open] < 0)) {
        char from[SHAPE_TEXT_SIZE];
        char to[SHAPE_TEXT_SIZE];
        return call_fail(context->call, STATUS_INVALID_ARGUMENT,
            "a sparse tensor of shape %s cannot take shape %s", shape_text(old, from),
            shape_text(&shape, to));
    }
    *ret_shape = shape;
    return STATUS_OK;
}

static Status
reshape_compute(KernelContext *context)
{
    const Tensor *indices = &context->inputs[0];
    Shape from = shape_scalar();
    Shape to;
    Shape expected[2];
    size_t rank = 0;
    Tensor *output = NULL;
    TRY(output_rule(context, expected));
    TRY(kernel_input_ints(context, 1, from.dims, SHAPE_RANK_MAX, &rank));
    from.rank = (int)rank;
    TRY(read_new_shape(context, &from, &to));
    if (indices->shape.rank != 2 || indices->shape.dims[1] != from.rank) {
        char text[SHAPE_TEXT_SIZE];
        return call_fail(context->call, STATUS_INVALID_ARGUMENT, "indices have shape %s, not [?,%d]",
            shape_text(&indices->shape, text), from.rank);
    }
    Shape matrix = {.rank = 2, .dims = {indices->shape.dims[0], to.rank}};
    TRY(kernel_output(context, 0, DTYPE_INT64, &matrix, &output));
    for (int64_t n = 0; n < matrix.dims[0]; n++) {
        const int64_t *position = (const int64_t *)indices->data + n * from.rank;
        int64_t *moved = (int64_t *)output->data + n * to.rank;
        uint64_t offset = 0;
        for (int dimension = 0; dimension < from.rank; dimension++) {
            offset = offset * (uint64_t)from.dims[dimension] + (uint64_t)position[dimension];
        }
        for (int dimension = to.rank - 1; dimension >= 0; dimension--) {
            uint64_t size = to.dims[dimension] > 0 ? (uint64_t)to.dims[dimension] : 1;
            moved[dimension] = (int64_t)(offset % size);
            offset /= size;
        }
    }
    return sparse_shape_output(context, 1, &to);
}

/* Reads the start of the slice, and its shape: the size is cut where the tensor ends. */
static Status
read_slice(KernelContext *context, const Shape *whole, int64_t *ret_start, Shape *ret_shape)
{
    int64_t size[SHAPE_RANK_MAX];
    size_t starts = 0;
    size_t sizes = 0;
    TRY(kernel_input_ints(context, 3, ret_start, SHAPE_RANK_MAX, &starts));
    TRY(kernel_input_ints(context, 4, size, SHAPE_RANK_MAX, &sizes));
    if (starts != (size_t)whole->rank || sizes != (size_t)whole->rank) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT,
            "%zu starts and %zu sizes for a sparse tensor of rank %d", starts, sizes, whole->rank);
    }
    *ret_shape = *whole;
    for (int dimension = 0; dimension < whole->rank; dimension++) {
        int64_t start = ret_start[dimension];
        int64_t left = start < 0 || start > whole->dims[dimension] ? 0 : whole->dims[dimension] - start;
        int64_t taken = size[dimension] < left ? size[dimension] : left;
        ret_shape->dims[dimension] = taken < 0 ? 0 : taken;
    }
    return STATUS_OK;
}

/* Returns the position within the slice, when it is inside. */
static bool
is_inside(const int64_t *position, const int64_t *start, const Shape *slice, int64_t *ret_position)
{
    for (int dimension = 0; dimension < slice->rank; dimension++) {
        ret_position[dimension] = position[dimension] - start[dimension];
        if (ret_position[dimension] < 0 || ret_position[dimension] >= slice->dims[dimension]) {
            return false;
        }
    }
    return true;
}

static Status
slice_compute(KernelContext *context)
{
    int64_t start[SHAPE_RANK_MAX];
    Sparse sparse;
    Shape shape;
    TRY(sparse_read(context, 0, 1, 2, &sparse));
    TRY(read_slice(context, &sparse.shape, start, &shape));
    AUTO_SPARSE_RESULT result = sparse_result(context, shape.rank);
    for (int64_t n = 0; n < sparse.count; n++) {
        int64_t position[SHAPE_RANK_MAX];
        if (is_inside(sparse_position(&sparse, n), start, &shape, position)) {
            sparse_add(&result, position, sparse.values, n);
        }
    }
    TRY(sparse_finish(context, 0, &result));
    return sparse_shape_output(context, 2, &shape);
}

static Status
join_part(KernelContext *context, const Sparse *part, int axis, Shape *shape, SparseResult *result)
{
    int64_t offset = shape->dims[axis];
    for (int64_t n = 0; n < part->count; n++) {
        int64_t position[SHAPE_RANK_MAX];
        memcpy(position, sparse_position(part, n), (size_t)part->shape.rank * sizeof *position);
        position[axis] += offset;
        sparse_add(result, position, part->values, n);
    }
    for (int dimension = 0; dimension < part->shape.rank; dimension++) {
        if (dimension != axis && shape->dims[dimension] != part->shape.dims[dimension]) {
            char left[SHAPE_TEXT_SIZE];
            char right[SHAPE_TEXT_SIZE];
            return call_fail(context->call, STATUS_INVALID_ARGUMENT,
                "sparse tensors of shapes %s and %s are joined along dimension %d", shape_text(shape, left),
                shape_text(&part->shape, right), axis);
        }
    }
    if (__builtin_add_overflow(offset, part->shape.dims[axis], &shape->dims[axis])) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT, "the sparse tensors together are too long");
    }
    return STATUS_OK;
}

static Status
concat_compute(KernelContext *context)
{
    uint32_t count = context->input_count / 3;
    int64_t given = node_attr_int(context->node, "concat_dim");
    AUTO_SPARSE_RESULT result = sparse_result(context, 0);
    Shape shape = shape_unknown();
    for (uint32_t index = 0; index < count; index++) {
        Sparse part;
        TRY(sparse_read(context, index, count + index, 2 * count + index, &part));
        int64_t axis = given + (given < 0 ? part.shape.rank : 0);
        if (axis < 0 || axis >= part.shape.rank || (index > 0 && part.shape.rank != shape.rank)) {
            return call_fail(context->call, STATUS_INVALID_ARGUMENT,
                "dimension %lld joins no sparse tensors of rank %d", (long long)given, part.shape.rank);
        }
        if (index == 0) {
            shape = part.shape;
            shape.dims[axis] = 0;
            result.rank = shape.rank;
        }
        TRY(join_part(context, &part, (int)axis, &shape, &result));
    }
    TRY(sparse_sort(context, &result, result.rank));
    TRY(sparse_finish(context, 0, &result));
    return sparse_shape_output(context, 2, &shape);
}

/* Adds the elements row by row; an empty row gets the default value in its first column. */
static Status
add_rows(KernelContext *context, const Sparse *sparse, int64_t *reverse, SparseResult *result)
{
    int64_t rows = sparse->shape.dims[0];
    Shape vector = shape_vector(rows);
    Tensor *are_empty = NULL;
    TRY(kernel_output(context, 2, DTYPE_BOOL, &vector, &are_empty));
    AUTO_TENSOR table = {0};
    TRY(scratch_array(context, rows + 1, sizeof(int64_t), &table));
    int64_t *next = table.data;
    for (int64_t n = 0; n < sparse->count; n++) {
        next[sparse_position(sparse, n)[0] + 1]++;
    }
    for (int64_t row = 0; row < rows; row++) {
        bool is_empty = next[row + 1] == 0;
        ((uint8_t *)are_empty->data)[row] = is_empty;
        next[row + 1] += next[row] + (is_empty ? 1 : 0);
        if (is_empty) {
            const int64_t position[SHAPE_RANK_MAX] = {row};
            sparse_add(result, position, &context->inputs[3], 0);
        }
    }
    for (int64_t n = 0; n < sparse->count; n++) {
        const int64_t *position = sparse_position(sparse, n);
        sparse_add(result, position, sparse->values, n);
        reverse[n] = next[position[0]]++;
    }
    return STATUS_OK;
}

static Status
fill_rows_compute(KernelContext *context)
{
    Sparse sparse;
    Tensor *reverse = NULL;
    TRY(sparse_read(context, 0, 1, 2, &sparse));
    Shape vector = shape_vector(sparse.count);
    AUTO_SPARSE_RESULT result = sparse_result(context, sparse.shape.rank);
    if (tensor_element_count(&context->inputs[3]) != 1) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT, "the default value must be one element");
    }
    TRY(kernel_output(context, 3, DTYPE_INT64, &vector, &reverse));
    TRY(add_rows(context, &sparse, reverse->data, &result));
    TRY(sparse_sort(context, &result, 1));
    return sparse_finish(context, 0, &result);
}

/* The gradient of an element goes back to it, all others to the default value. */
static Status
fill_rows_gradient_compute(KernelContext *context)
{
    Dtype wide = wide_dtype(context->inputs[1].dtype);
    size_t size = dtype_size(wide);
    int64_t count = tensor_element_count(&context->inputs[1]);
    Shape shapes[2];
    AUTO_TENSOR from = {0};
    AUTO_TENSOR values = {0};
    AUTO_TENSOR rest = {0};
    AUTO_TENSOR taken = {0};
    TRY(output_shapes(context, shapes));
    TRY(scratch_cast(context, &context->inputs[1], wide, &from));
    TRY(scratch_new(context, wide, &shapes[0], &values));
    TRY(scratch_new(context, wide, &shapes[1], &rest));
    TRY(scratch_array(context, count, sizeof(bool), &taken));
    bool *is_taken = taken.data;
    fill_zero(&rest);
    for (int64_t n = 0; n < shapes[0].dims[0]; n++) {
        int64_t position = ((const int64_t *)context->inputs[0].data)[n];
        if (position < 0 || position >= count) {
            return call_fail(context->call, STATUS_INVALID_ARGUMENT,
                "element %lld of the reverse map is %lld, not within %lld", (long long)n, (long long)position,
                (long long)count);
        }
        is_taken[position] = true;
        memcpy(
            (char *)values.data + (size_t)n * size, (const char *)from.data + (size_t)position * size, size);
    }
    for (int64_t n = 0; n < count; n++) {
        if (!is_taken[n]) {
            wide_combine(WIDE_ADD, wide, rest.data, (const char *)from.data + (size_t)n * size, 1);
        }
    }
    TRY(scratch_finish(context, 0, &values));
    return scratch_finish(context, 1, &rest);
}

static bool
gradient_supports(const Node *node)
{
    return wide_supports(WIDE_ADD, node->input_dtypes[1]);
}

static bool
values_supports(const Node *node)
{
    Dtype dtype = node->output_dtypes[1];
    return dtype_is_copyable(dtype) || dtype == DTYPE_STRING;
}

static const Kernel sparse_rows_kernels[] = {
    {.op = "SparseReorder", .supports = values_supports, .compute = reorder_compute, .host_inputs = 1 << 2},
    {.op = "SparseReshape", .compute = reshape_compute, .host_inputs = 6},
    {.op = "SparseSlice", .supports = values_supports, .compute = slice_compute},
    {.op = "SparseConcat", .supports = values_supports, .compute = concat_compute},
    {.op = "SparseFillEmptyRows", .supports = values_supports, .compute = fill_rows_compute},
    {.op = "SparseFillEmptyRowsGrad",
        .supports = gradient_supports,
        .compute = fill_rows_gradient_compute,
        .wide_inputs = 2,
        .wide_outputs = 3},
};

KERNEL_FAMILY(reference, sparse_rows, sparse_rows_kernels);
