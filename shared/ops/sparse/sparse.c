#include "shared/ops/sparse/sparse.h"

#include <stdlib.h>

#include "worker/reference/scratch.h"
#include "worker/reference/texts.h"

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

Status
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

SparseResult
sparse_result(const KernelContext *context, int rank)
{
    size_t size_max = scratch_heap_max(context);
    return (SparseResult){.rank = rank, .positions.size_max = size_max, .elements.size_max = size_max};
}

void
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

Status
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

Status
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

void
sparse_result_done(SparseResult *result)
{
    buffer_done(&result->positions);
    buffer_done(&result->elements);
}

Status
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
