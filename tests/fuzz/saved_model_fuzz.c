/* Fuzzes SavedModels: any bytes give the graph of a SavedModel's tar, or an error. */
#include "gateway/formats/saved_model.h"
#include "tests/fuzz/graph_bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    import_skeleton(saved_model_skeleton, saved_model_read, slice_of(data, size));
    return import_bytes(saved_model_read, data, size);
}
