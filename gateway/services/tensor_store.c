#include "gateway/services/tensor_store.h"

#include <string.h>

#include "gateway/store/blobs.h"
#include "shared/base/memory.h"
#include "shared/base/text.h"

/* --- Out --------------------------------------------------------------------------------------------------
 */

static Slice
bytes_of(const Tensor *tensor, Buffer *scratch)
{
    if (tensor->dtype != DTYPE_STRING) {
        return slice_of(tensor->data == NULL ? "" : tensor->data, tensor_byte_size(tensor));
    }
    const Slice *const elements = tensor->data;
    const int64_t count = tensor_element_count(tensor);
    for (int64_t index = 0; index < count; index++) {
        const uint64_t size = elements[index].size;
        buffer_append(scratch, &size, sizeof size);
    }
    for (int64_t index = 0; index < count; index++) {
        buffer_append_slice(scratch, elements[index]);
    }
    return scratch->size == 0 ? SLICE("") : buffer_slice(scratch);
}

Status
tensor_put(
    Call *call, Store *store, TenantId tenant, Slice name, const Tensor *tensor, StepTensor *ret_stored)
{
    AUTO_BUFFER scratch = {0};
    const Slice bytes = bytes_of(tensor, &scratch);
    StepTensor stored = {
        .name = text_copy(call->arena, name),
        .dtype = dtype_name(tensor->dtype),
        .rank = (size_t)tensor->shape.rank,
    };
    if (stored.name == NULL || !buffer_is_ok(&scratch)) {
        return call_fail_memory(call, "a tensor to be stored");
    }
    memcpy(stored.dims, tensor->shape.dims, stored.rank * sizeof *stored.dims);
    sha256(bytes, &stored.sha256);
    TRY(blobs_put(call, store, tenant, &stored.sha256, bytes));
    *ret_stored = stored;
    return STATUS_OK;
}

/* --- In ---------------------------------------------------------------------------------------------------
 */

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
    const size_t table_size = count * sizeof(uint64_t);
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
    AUTO_BUFFER bytes = {0};
    Shape shape = shape_of_rank((int)stored->rank);
    const Dtype dtype = dtype_from_name(slice_from_string(stored->dtype));
    const BlobRange all = {.offset = 0, .size = BLOB_SIZE_MAX};
    memcpy(shape.dims, stored->dims, stored->rank * sizeof *stored->dims);
    TRY(blobs_read(call, store, tenant, &stored->sha256, all, &bytes));
    if (!buffer_is_ok(&bytes)) {
        return call_fail_memory(call, "a stored tensor");
    }
    return dtype == DTYPE_STRING
               ? read_strings(call, stored, &shape, buffer_slice(&bytes), ret_tensor)
               : read_elements(call, stored, dtype, &shape, buffer_slice(&bytes), ret_tensor);
}
