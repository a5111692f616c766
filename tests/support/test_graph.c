#include "tests/support/test_graph.h"

#include <assert.h>

#include "shared/base/memory.h"

typedef struct Computation Computation;
struct Computation {
    Computation *next;
    const Kernel *kernel;
    KernelContext context;
    Tensor tensors[]; /* inputs, then outputs; only those on the host have buffers */
};

struct DeviceGraph {
    Computation *first;
    Computation *last;
};

DeviceGraph *
test_graph_new(void)
{
    return memory_new(1, sizeof(DeviceGraph));
}

void
test_graph_free(DeviceGraph *graph)
{
    while (graph != NULL && graph->first != NULL) {
        Computation *first = graph->first;
        graph->first = first->next;
        for (uint32_t i = 0; i < first->context.input_count; i++) {
            tensor_unref(&first->tensors[i]);
        }
        memory_free(first);
    }
    memory_free(graph);
}

static void
copy_address(Tensor *to, const Tensor *from)
{
    tensor_copy(to, from);
    to->buffer = tensor_is_on_host(from) ? tensor_buffer_ref(from->buffer) : NULL;
}

bool
test_graph_add(DeviceGraph *graph, const Kernel *kernel, const KernelContext *context, const Tensor *inputs)
{
    size_t count = (size_t)context->input_count + context->output_count;
    Computation *made = memory_new(1, sizeof *made + count * sizeof(Tensor));
    if (made == NULL) {
        return false;
    }
    made->kernel = kernel;
    made->context = *context;
    for (uint32_t i = 0; i < context->input_count; i++) {
        copy_address(&made->tensors[i], &inputs[i]);
    }
    for (uint32_t i = 0; i < context->output_count; i++) {
        copy_address(&made->tensors[context->input_count + i], &context->outputs[i]);
    }
    if (graph->last == NULL) {
        graph->first = made;
    } else {
        graph->last->next = made;
    }
    graph->last = made;
    return true;
}

/* Returns whether an output is what the kernel has read, which may be a constant of the partition's. */
static bool
is_input(const Computation *computation, const Tensor *output)
{
    for (uint32_t i = 0; i < computation->context.input_count; i++) {
        if (computation->tensors[i].data == output->data) {
            return true;
        }
    }
    return false;
}

void
test_graph_spoil(const DeviceGraph *graph, int filling)
{
    for (const Computation *at = graph->first; at != NULL; at = at->next) {
        for (uint32_t i = 0; i < at->context.output_count; i++) {
            const Tensor *output = &at->tensors[at->context.input_count + i];
            if (output->data != NULL && !is_input(at, output)) {
                memset(output->data, filling, tensor_byte_size(output));
            }
        }
    }
}

static void
release_nothing(TensorBuffer *buffer)
{
    (void)buffer;
}

/* Computes to new memory, and copies what came of it to where it was written before. An input has a buffer
 * that somebody else holds too, so that it is not overwritten. */
static Status
compute_again(Call *call, const Computation *computation)
{
    KernelContext context = computation->context;
    size_t count = (size_t)context.input_count + context.output_count;
    Tensor *tensors = arena_alloc(call->arena, (count + 1) * sizeof *tensors);
    TensorBuffer *buffers = arena_alloc(call->arena, (count + 1) * sizeof *buffers);
    if (tensors == NULL || buffers == NULL) {
        return call_fail_memory(call, "a test kernel's tensors");
    }
    for (uint32_t i = 0; i < context.input_count; i++) {
        tensor_copy(&tensors[i], &computation->tensors[i]);
        if (tensors[i].buffer == NULL && tensors[i].data != NULL) {
            buffers[i] = (TensorBuffer){.reference_count = 2,
                .size = tensor_byte_size(&tensors[i]),
                .data = tensors[i].data,
                .release = release_nothing,
                .memory = context.device->memory_number};
            tensors[i].buffer = &buffers[i];
        } else {
            (void)tensor_buffer_ref(tensors[i].buffer);
        }
    }
    context.call = call;
    context.inputs = tensors;
    context.outputs = tensors + context.input_count;
    Status status = computation->kernel->compute(&context);
    for (uint32_t i = 0; i < context.input_count; i++) {
        tensor_buffer_unref(tensors[i].buffer);
    }
    for (uint32_t i = 0; i < context.output_count; i++) {
        const Tensor *wanted = &computation->tensors[context.input_count + i];
        if (status == STATUS_OK && wanted->data != NULL) {
            assert(tensor_byte_size(wanted) == tensor_byte_size(&context.outputs[i]));
            memmove(wanted->data, context.outputs[i].data, tensor_byte_size(wanted));
        }
        tensor_buffer_unref(context.outputs[i].buffer);
    }
    if (status != STATUS_OK) {
        call_blame(call, context.node->name);
    }
    return status;
}

Status
test_graph_compute(Call *call, const DeviceGraph *graph)
{
    for (const Computation *at = graph->first; at != NULL; at = at->next) {
        TRY(compute_again(call, at));
    }
    return STATUS_OK;
}
