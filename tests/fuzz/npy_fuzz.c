/* Fuzzes .npy: any bytes give a tensor or an error. A tensor that is read is written, and that reads back
 * as the same. */
#include <assert.h>

#include "shared/tensor/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BYTE_SIZE_MAX = 1 << 16 };

/* Reads the file in two pieces. */
static Status
read_cut(Call *call, Slice file, size_t cut, Tensor *ret_tensor)
{
    NpyReader reader = {0};
    Status status = npy_reader_write(call, &reader, slice_part(file, 0, cut), BYTE_SIZE_MAX);
    if (status == STATUS_OK) {
        status = npy_reader_write(call, &reader, slice_part(file, cut, file.size), BYTE_SIZE_MAX);
    }
    status = status == STATUS_OK ? npy_reader_end(call, &reader, ret_tensor) : status;
    npy_reader_done(&reader);
    return status;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Call call = {0};
    AUTO_TENSOR tensor = {0};
    AUTO_TENSOR same = {0};
    AUTO_TENSOR pieced = {0};
    AUTO_BUFFER file = {0};
    Status cut = read_cut(&call, slice_of(data, size), size / 2, &pieced);
    if (npy_read(&call, slice_of(data, size), BYTE_SIZE_MAX, &tensor) != STATUS_OK) {
        assert(cut != STATUS_OK);
        return 0;
    }
    assert(cut == STATUS_OK && tensor_equal(&tensor, &pieced));
    Status written = npy_write_header(&call, &tensor, &file);
    assert(written == STATUS_OK && file.size % 64 == 0);
    buffer_append(&file, tensor.data, tensor_byte_size(&tensor));
    Status read = npy_read(&call, buffer_slice(&file), BYTE_SIZE_MAX, &same);
    assert(read == STATUS_OK && tensor_equal(&tensor, &same));
    return 0;
}
