#include "gateway/formats/graphdef_protobuf.h"

#include <assert.h>

#include "gateway/formats/protobuf_graph.h"
#include "gateway/formats/saved_model.h"

/* Returns true for a SavedModel: its first field is a number, the schema's version. A GraphDef's is a
 * node. */
static bool
is_saved_model(Slice bytes)
{
    ProtobufReader reader = protobuf_reader(bytes);
    ProtobufField field;
    return protobuf_next(&reader, &field) && field.number == 1 && field.wire == PROTOBUF_VARINT;
}

Status
graphdef_protobuf_read(Call *call, TensorBuffer *source, GraphDef **ret_def)
{
    assert(source != NULL && ret_def != NULL);
    enum { SCRATCH_SIZE_MIN = 16 << 20, SCRATCH_FACTOR = 16 };
    AUTO_GRAPH_BUILDER builder;
    TRY(builder_begin(&builder, call, source->size));
    AUTO_ARENA scratch = arena_new(SCRATCH_SIZE_MIN + source->size * SCRATCH_FACTOR);
    if (scratch == NULL) {
        return call_fail_memory(call, "the graph");
    }
    builder.def->source = tensor_buffer_ref(source);
    ProtoImport import = {.call = call, .builder = &builder, .scratch = scratch, .source = source};
    Slice bytes = slice_of(source->data, source->size);
    static const SavedModelArchive alone = {.bytes = {.size = 0}};
    TRY(is_saved_model(bytes) ? proto_saved_model(&import, bytes, &alone, builder.def)
                              : proto_graph(&import, bytes, builder.def));
    *ret_def = builder_finish(&builder);
    return STATUS_OK;
}
