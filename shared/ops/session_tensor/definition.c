/* Values kept by the session under a handle that a client can fetch and feed again. TensorFlow has them
 * within one worker; here they live where the session's variables do. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

static const OpDefinition session_tensor_ops[] = {
    OP("GetSessionHandle!(value:T)->(handle:string) {T:type}", OP_KEEPS_STATE, infer_scalar),
    OP("GetSessionTensor!(handle:string)->(value:dtype) {dtype:type}", OP_KEEPS_STATE, infer_unknown),
    OP("DeleteSessionTensor!(handle:string)->() {}", OP_KEEPS_STATE, infer_unknown),
};

OP_FAMILY(session_tensor, session_tensor_ops);
