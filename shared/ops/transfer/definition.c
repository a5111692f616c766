/* Ops that only partitions contain: their edges to the step (feeds, fetches), to other partitions, and to
 * large constants that travel apart from the graph. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

static Status
infer_declared(Call *call, InferContext *context)
{
    (void)call;
    context->outputs[0] = node_attr(context->node, "shape")->value.shape;
    return STATUS_OK;
}

static const OpDefinition transfer_ops[] = {
    OP("_Arg()->(output:T) {T:type, index:int}", OP_INTERNAL | OP_SOURCE, infer_unknown),
    OP("_Retval(input:T)->() {T:type, index:int}", OP_INTERNAL, infer_unknown),
    OP("_Send!(tensor:T)->() {T:type, tensor_name:string, send_device:string, recv_device:string, "
       "client_terminated:bool=false, send_device_incarnation:int=0}",
        OP_INTERNAL, infer_unknown),
    OP("_Recv!()->(tensor:tensor_type) {tensor_type:type, tensor_name:string, send_device:string, "
       "recv_device:string, client_terminated:bool=false, send_device_incarnation:int=0, shape:shape=unk, "
       "grows:ints=[]}",
        OP_INTERNAL, infer_declared),
    OP("_BlobConst()->(output:dtype) {dtype:type, shape:shape, sha256:string}", OP_INTERNAL | OP_SOURCE,
        infer_declared),
};

OP_FAMILY(transfer, transfer_ops);
