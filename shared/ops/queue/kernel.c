/* Ops of queues. The requests that wait belong to tensor_queue.h. */
#include "shared/ops/queue/tensor_queue.h"

#include "shared/base/memory.h"
#include "shared/base/random.h"
#include "worker/reference/naming.h"

typedef struct QueueKind {
    bool shuffles;
    bool pads;
} QueueKind;

static Status
read_components(KernelContext *context, QueueDeclaration *declaration)
{
    const AttrValue *types = node_attr(context->node, "component_types");
    const AttrValue *shapes = node_attr(context->node, "shapes");
    size_t count = types->value.list.count;
    size_t shape_count = shapes->value.list.count;
    if (count == 0 || count > QUEUE_COMPONENTS_MAX || (shape_count > 0 && shape_count != count)) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT,
            "a queue of %zu components with %zu shapes, where there may be 1 to %d", count, shape_count,
            QUEUE_COMPONENTS_MAX);
    }
    declaration->component_count = (uint32_t)count;
    for (size_t index = 0; index < count; index++) {
        declaration->dtypes[index] = types->value.list.items[index].value.type;
        if (declaration->dtypes[index] == DTYPE_RESOURCE) {
            return call_fail(context->call, STATUS_INVALID_ARGUMENT, "a queue holds no handles of resources");
        }
        declaration->shapes[index] =
            shape_count == 0 ? shape_unknown() : shapes->value.list.items[index].value.shape;
    }
    return STATUS_OK;
}

static void
read_shuffling(const Node *node, QueueDeclaration *declaration)
{
    declaration->kept = node_attr_int(node, "min_after_dequeue");
    declaration->seeds[0] = (uint64_t)node_attr_int(node, "seed");
    declaration->seeds[1] = (uint64_t)node_attr_int(node, "seed2");
    if (declaration->seeds[0] == 0 && declaration->seeds[1] == 0) {
        random_bytes(declaration->seeds, sizeof declaration->seeds);
    }
}

static Status
declare_queue(KernelContext *context, QueueKind kind)
{
    const Naming *naming = context->state;
    QueueDeclaration declaration = {
        .name = naming->name,
        .device = context->device,
        .capacity = node_attr_int(context->node, "capacity"),
        .shuffles = kind.shuffles,
        .pads = kind.pads,
    };
    TRY(read_components(context, &declaration));
    if (kind.shuffles) {
        read_shuffling(context->node, &declaration);
    }
    return tensor_queue_output(context, &declaration);
}

static Status
fifo_compute(KernelContext *context)
{
    return declare_queue(context, (QueueKind){.shuffles = false});
}

static Status
shuffle_compute(KernelContext *context)
{
    return declare_queue(context, (QueueKind){.shuffles = true});
}

static Status
padding_compute(KernelContext *context)
{
    return declare_queue(context, (QueueKind){.pads = true});
}

#define REQUEST(name, request)                                                                               \
    static void name##_start(KernelPromise *promise)                                                         \
    {                                                                                                        \
        tensor_queue_start(promise, request);                                                                \
    }

REQUEST(put, QUEUE_PUT)
REQUEST(put_many, QUEUE_PUT_MANY)
REQUEST(take, QUEUE_TAKE)
REQUEST(take_many, QUEUE_TAKE_MANY)
REQUEST(take_up_to, QUEUE_TAKE_UP_TO)

/* A step has a deadline; a node has none of its own, as in TensorFlow. */
static bool
waits_as_long_as_the_step(const Node *node)
{
    return node_attr_int(node, "timeout_ms") < 0;
}

static Status
close_compute(KernelContext *context)
{
    TensorQueue *queue = NULL;
    TRY(kernel_tensor_queue(context, &queue));
    tensor_queue_close(queue, node_attr_bool(context->node, "cancel_pending_enqueues"));
    return STATUS_OK;
}

static Status
size_compute(KernelContext *context)
{
    Shape scalar = shape_scalar();
    TensorQueue *queue = NULL;
    Tensor *output = NULL;
    TRY(kernel_tensor_queue(context, &queue));
    TRY(kernel_output(context, 0, DTYPE_INT32, &scalar, &output));
    *(int32_t *)output->data = (int32_t)tensor_queue_size(queue);
    return STATUS_OK;
}

static Status
is_closed_compute(KernelContext *context)
{
    Shape scalar = shape_scalar();
    TensorQueue *queue = NULL;
    Tensor *output = NULL;
    TRY(kernel_tensor_queue(context, &queue));
    TRY(kernel_output(context, 0, DTYPE_BOOL, &scalar, &output));
    *(uint8_t *)output->data = tensor_queue_is_closed(queue);
    return STATUS_OK;
}

#define NAMED_QUEUE(name, function)                                                                          \
    {                                                                                                        \
        .op = (name), .create = naming_new, .destroy = memory_free, .compute = (function), .is_cheap = true  \
    }
#define WAITING(name, function)                                                                              \
    {                                                                                                        \
        .op = (name), .supports = waits_as_long_as_the_step, .start = (function),                            \
        .cancel = tensor_queue_cancel                                                                        \
    }

static const Kernel queue_kernels[] = {
    NAMED_QUEUE("FIFOQueueV2", fifo_compute),
    NAMED_QUEUE("RandomShuffleQueueV2", shuffle_compute),
    NAMED_QUEUE("PaddingFIFOQueueV2", padding_compute),
    WAITING("QueueEnqueueV2", put_start),
    WAITING("QueueEnqueueManyV2", put_many_start),
    WAITING("QueueDequeueV2", take_start),
    WAITING("QueueDequeueManyV2", take_many_start),
    WAITING("QueueDequeueUpToV2", take_up_to_start),
    {.op = "QueueCloseV2", .compute = close_compute},
    {.op = "QueueSizeV2", .compute = size_compute, .host_outputs = 1, .is_cheap = true},
    {.op = "QueueIsClosedV2", .compute = is_closed_compute, .host_outputs = 1, .is_cheap = true},
};

KERNEL_FAMILY(reference, queue, queue_kernels);
