/* Fuzzes tensors in JSON: the first byte chooses the dtype that is expected (none for 0), the rest gives a
 * tensor or an error. A tensor that is read is written, and that reads back as the same. */
#include <assert.h>

#include "shared/tensor/tensor_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BYTE_SIZE_MAX = 1 << 16 };

static Status
tensor_read(Call *call, Slice text, Dtype expected, Tensor *ret_tensor, Slice *ret_reference)
{
    JsonScanner scanner;
    json_scan_begin(&scanner, text, JSON_DEPTH_MAX);
    TensorJsonOptions options = {.expected = expected, .byte_size_max = BYTE_SIZE_MAX};
    TRY(tensor_json_read(call, &scanner, options, ret_tensor, ret_reference));
    return json_scan_end(call, &scanner);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    AUTO_ARENA arena = arena_new(64 << 20);
    Call call = {.arena = arena};
    Dtype expected = (Dtype)(data[0] % DTYPE_COUNT);
    AUTO_TENSOR tensor = {0};
    AUTO_TENSOR same = {0};
    AUTO_BUFFER written = {0};
    Slice reference = {0};
    Status status = tensor_read(&call, slice_of(data + 1, size - 1), expected, &tensor, &reference);
    if (status != STATUS_OK || tensor.dtype == DTYPE_INVALID) {
        return 0;
    }
    assert(expected == DTYPE_INVALID || tensor.dtype == expected);
    assert(tensor_byte_size(&tensor) <= BYTE_SIZE_MAX);
    JsonWriter writer = json_writer(&written);
    tensor_json_write(&writer, &tensor);
    Status again = tensor_read(&call, buffer_slice(&written), expected, &same, &reference);
    assert(again == STATUS_OK);
    /* All NaNs are written as the same one. */
    AUTO_BUFFER rewritten = {0};
    writer = json_writer(&rewritten);
    tensor_json_write(&writer, &same);
    assert(slice_equal(buffer_slice(&written), buffer_slice(&rewritten)));
    return 0;
}
