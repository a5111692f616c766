/* Queues, kept by a session, for which steps wait. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

#define QUEUE(name, attributes)                                                                              \
    OP(name "!()->(handle:resource) {component_types:list(type), shapes:list(shape)=[], "                    \
            "capacity:int=-1, " attributes "container:string=, shared_name:string=}",                        \
        OP_KEEPS_STATE, infer_scalar)
#define DEQUEUE(name, inputs)                                                                                \
    OP(name "!(" inputs ")->(components:component_types) {component_types:list(type), timeout_ms:int=-1}",   \
        0, infer_unknown)
#define ENQUEUE(name)                                                                                        \
    OP(name "!(handle:resource, components:Tcomponents)->() {Tcomponents:list(type), timeout_ms:int=-1}", 0, \
        infer_unknown)

static const OpDefinition queue_ops[] = {
    QUEUE("FIFOQueueV2", ""),
    QUEUE("PaddingFIFOQueueV2", ""),
    QUEUE("RandomShuffleQueueV2", "min_after_dequeue:int=0, seed:int=0, seed2:int=0, "),
    ENQUEUE("QueueEnqueueV2"),
    ENQUEUE("QueueEnqueueManyV2"),
    DEQUEUE("QueueDequeueV2", "handle:resource"),
    DEQUEUE("QueueDequeueManyV2", "handle:resource, n:int32"),
    DEQUEUE("QueueDequeueUpToV2", "handle:resource, n:int32"),
    OP("QueueCloseV2!(handle:resource)->() {cancel_pending_enqueues:bool=false}", 0, infer_unknown),
    OP("QueueSizeV2!(handle:resource)->(size:int32) {}", 0, infer_scalar),
    OP("QueueIsClosedV2!(handle:resource)->(is_closed:bool) {}", 0, infer_scalar),
};

OP_FAMILY(queue, queue_ops);
