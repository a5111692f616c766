/* Reads ONNX models: a ModelProto becomes a GraphDef of `onnx::` nodes.
 *
 * Opsets 7 to ONNX_OPSET_MAX of the default domain are brought to the newest operator versions: attributes
 * that became inputs are constants, renamed modes are renamed, the old Softmax, which flattened, is
 * spelled out. Initializers and Constant become Const, graph inputs Placeholder, subgraphs functions;
 * calls of the model's own functions are written out. A node of another domain is "<domain>::<type>",
 * which the linker takes for an unknown op unless somebody registers it. Names are made to fit the
 * grammar; GraphDef.inputs and outputs hold those of the model. Sparse tensors are not read. External data in
 * files is not read here, but in the skeleton that is made of model and files (skeleton.h); there the
 * location is "sha256:…", and such a tensor is absent.
 *
 * Ownership: the GraphDef keeps a reference to `source`: its texts and large, aligned initializers lie
 * there.
 * Threads:   any.
 * Errors:    INVALID_ARGUMENT for what is no ONNX model or breaks a rule. UNIMPLEMENTED, naming the node,
 *            for what is not supported. RESOURCE_EXHAUSTED as for every format. */
#pragma once

#include "shared/graph/graph_def.h"

enum { ONNX_OPSET_MIN = 7, ONNX_OPSET_MAX = 28 };

MUST_USE Status onnx_read(Call *call, TensorBuffer *source, GraphDef **ret_def);
