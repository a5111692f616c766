/* Reads AttrValue and the messages in it from protobuf. Private to gateway/formats. Field numbers:
 * TensorFlow's attr_value.proto, tensor.proto, tensor_shape.proto. */
#pragma once

#include "gateway/formats/message_view.h"
#include "shared/base/map.h"
#include "shared/formats/builder.h"

typedef struct ProtoImport {
    Call *call;
    GraphBuilder *builder;
    Arena *scratch; /* freed when the import ends */
    TensorBuffer *source;
    const Map *producer_ops; /* name of an op → FunctionDef: the op's definition where the graph was
                              * written; or NULL */
} ProtoImport;

/* An entry of a map: its fields 1 and 2. */
typedef struct MapEntryView {
    Slice key;
    Slice value;
} MapEntryView;
MUST_USE Status proto_map_entry(ProtoImport *import, Slice bytes, MapEntryView *ret_entry);

/* Reads a map of AttrValues, sorted by name; of equal names the last one counts. `depth` starts at 0. */
MUST_USE Status proto_attrs(
    ProtoImport *import, const SliceList *entries, int depth, Attr **ret_attrs, size_t *ret_count);

/* Reads one AttrValue. */
MUST_USE Status proto_value(ProtoImport *import, Slice bytes, AttrValue *ret_value);

/* A field that TensorFlow's TensorProto does not have: in a skeleton it names the tensor's bytes,
 * "sha256:…". */
enum { PROTO_TENSOR_REF = 1000 };

MUST_USE Status proto_tensor(ProtoImport *import, Slice bytes, Tensor *ret_tensor);

MUST_USE Status proto_shape(ProtoImport *import, Slice bytes, Shape *ret_shape);
