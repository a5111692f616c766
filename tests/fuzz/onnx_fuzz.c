/* Fuzzes ONNX: any bytes give a model or an error. */
#include "gateway/formats/onnx.h"
#include "tests/fuzz/graph_bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    import_skeleton(onnx_skeleton, onnx_read, slice_of(data, size));
    return import_bytes(onnx_read, data, size);
}
