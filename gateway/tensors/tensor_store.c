#include "gateway/tensors/tensor_store.h"

#include <assert.h>
#include <string.h>

#include "gateway/store/blobs.h"
#include "shared/base/memory.h"
#include "shared/base/text.h"

static void
write_strings(const Slice *elements, size_t count, char *ret_bytes)
{
    char *bytes = ret_bytes + count * sizeof(uint64_t);
    for (size_t index = 0; index < count; index++) {
        uint64_t size = elements[index].size;
        memcpy(ret_bytes + index * sizeof size, &size, sizeof size);
        if (size > 0) {
            memcpy(bytes, elements[index].data, size);
        }
        bytes += size;
    }
}

static Status
stored_bytes(Call *call, const Tensor *tensor, Slice *ret_bytes)
{
    if (tensor->dtype != DTYPE_STRING) {
        *ret_bytes = slice_of(tensor->data == NULL ? "" : tensor->data, tensor_byte_size(tensor));
        return STATUS_OK;
    }
    const Slice *elements = tensor->data;
    size_t count = (size_t)tensor_element_count(tensor);
    size_t size = count * sizeof(uint64_t);
    for (size_t index = 0; index < count; index++) {
        size += elements[index].size;
    }
    char *bytes = arena_alloc(call->arena, size + 1);
    if (bytes == NULL) {
        return call_fail_memory(call, "a tensor to be stored");
    }
    write_strings(elements, count, bytes);
    *ret_bytes = slice_of(bytes, size);
    return STATUS_OK;
}

static Status
describe_tensor(Call *call, Slice name, const Tensor *tensor, StepTensor *ret_stored, BlobPut *ret_blob)
{
    BlobPut blob = {0};
    StepTensor stored = {
        .name = text_copy(call->arena, name),
        .dtype = dtype_name(tensor->dtype),
        .rank = (size_t)tensor->shape.rank,
    };
    if (stored.name == NULL) {
        return call_fail_memory(call, "a tensor to be stored");
    }
    TRY(stored_bytes(call, tensor, &blob.bytes));
    memcpy(stored.dims, tensor->shape.dims, stored.rank * sizeof *stored.dims);
    sha256(blob.bytes, &stored.sha256);
    blob.digest = stored.sha256;
    *ret_stored = stored;
    *ret_blob = blob;
    return STATUS_OK;
}

Status
tensors_stored(Call *call, const Slice *names, const Tensor *tensors, size_t count, StepTensors *ret_rows,
    BlobPut *ret_blobs)
{
    assert(count == 0 || (names != NULL && tensors != NULL));

    StepTensors rows = {.count = count};
    rows.items = arena_alloc(call->arena, (count + 1) * sizeof *rows.items);
    if (rows.items == NULL) {
        return call_fail_memory(call, "tensors to be stored");
    }
    for (size_t index = 0; index < count; index++) {
        TRY(describe_tensor(call, names[index], &tensors[index], &rows.items[index], &ret_blobs[index]));
    }
    *ret_rows = rows;
    return STATUS_OK;
}

static Status
fail_lost(Call *call, const StepTensor *stored)
{
    return call_fail(
        call, STATUS_DATA_LOSS, "the stored bytes of tensor '%s' are not those of its shape", stored->name);
}

static Status
read_elements(
    Call *call, const StepTensor *stored, Dtype dtype, const Shape *shape, Slice bytes, Tensor *ret_tensor)
{
    AUTO_TENSOR tensor = {0};
    size_t size = 0;
    if (!shape_byte_size(shape, dtype, &size) || size != bytes.size) {
        return fail_lost(call, stored);
    }
    if (!tensor_new(dtype, shape, &tensor)) {
        return call_fail_memory(call, "a stored tensor");
    }
    if (size > 0) {
        memcpy(tensor.data, bytes.data, size);
    }
    *ret_tensor = tensor;
    tensor = (Tensor){0};
    return STATUS_OK;
}

static bool
split_strings(Slice bytes, Slice *elements, size_t count)
{
    size_t table_size = count * sizeof(uint64_t);
    Slice rest = slice_part(bytes, table_size, bytes.size);
    for (size_t index = 0; index < count; index++) {
        uint64_t size;
        memcpy(&size, bytes.data + index * sizeof size, sizeof size);
        if (size > rest.size) {
            return false;
        }
        elements[index] = slice_part(rest, 0, size);
        rest = slice_part(rest, size, rest.size);
    }
    return rest.size == 0;
}

static Status
read_strings(Call *call, const StepTensor *stored, const Shape *shape, Slice bytes, Tensor *ret_tensor)
{
    int64_t count = 0;
    if (!shape_element_count(shape, &count) || (uint64_t)count > bytes.size / sizeof(uint64_t)) {
        return fail_lost(call, stored);
    }
    AUTO_MEMORY Slice *elements = memory_new((size_t)count + 1, sizeof *elements);
    if (elements == NULL) {
        return call_fail_memory(call, "a stored tensor");
    }
    if (!split_strings(bytes, elements, (size_t)count)) {
        return fail_lost(call, stored);
    }
    return tensor_new_strings(shape, elements, ret_tensor) ? STATUS_OK
                                                           : call_fail_memory(call, "a stored tensor");
}

Status
tensor_get(Call *call, Store *store, TenantId tenant, const StepTensor *stored, Tensor *ret_tensor)
{
    assert(stored->rank <= SHAPE_RANK_MAX);

    AUTO_BUFFER bytes = {0};
    Shape shape = shape_of_rank((int)stored->rank);
    Dtype dtype = dtype_from_name(slice_from_string(stored->dtype));
    BlobRange all = {.offset = 0, .size = SIZE_MAX};
    memcpy(shape.dims, stored->dims, stored->rank * sizeof *stored->dims);
    TRY(blobs_read(call, store, tenant, &stored->sha256, all, &bytes));
    if (!buffer_is_ok(&bytes)) {
        return call_fail_memory(call, "a stored tensor");
    }
    return dtype == DTYPE_STRING
               ? read_strings(call, stored, &shape, buffer_slice(&bytes), ret_tensor)
               : read_elements(call, stored, dtype, &shape, buffer_slice(&bytes), ret_tensor);
}
