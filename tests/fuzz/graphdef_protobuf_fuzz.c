/* Fuzzes GraphDef in protobuf: any bytes give a GraphDef or the SavedModel in one message, or an error. */
#include "gateway/formats/graphdef_protobuf.h"
#include "tests/fuzz/graph_bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    import_skeleton(graphdef_skeleton, graphdef_protobuf_read, slice_of(data, size));
    return import_bytes(graphdef_protobuf_read, data, size);
}
