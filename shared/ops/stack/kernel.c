/* Stacks: the gradient of a loop pops the values that the loop pushed. An element is a reference to the
 * pushed tensor. It may be a handle, but not of a stack: a stack that held itself would never be freed. */

#include "shared/base/memory.h"
#include "shared/base/mutex.h"
#include "worker/reference/room.h"
#include "worker/runtime/resource.h"

enum { STACK_SIZE_MAX = 1 << 20, STACK_BYTES_FIRST = 16 * sizeof(Tensor) };

typedef struct Stack {
    Resource resource;
    Mutex lock;     /* guards the members below */
    Device *device; /* whose memory the elements take */
    Dtype dtype;
    int64_t size_max;
    Room room;
    Tensor *elements; /* in `room` */
    int64_t size;
    bool is_closed;
} Stack;

static void
stack_clear(Stack *stack)
{
    while (stack->size > 0) {
        tensor_unref(&stack->elements[--stack->size]);
    }
    room_free(&stack->room);
    stack->elements = NULL;
}

static void
stack_free(Resource *resource)
{
    Stack *stack = (Stack *)(void *)resource;
    stack_clear(stack);
    mutex_done(&stack->lock);
    memory_free(stack);
}

static const ResourceType stack_type = {.name = "a stack", .free = stack_free};

static Status
new_compute(KernelContext *context)
{
    int64_t size_max = -1;
    size_t count = 0;
    TRY(kernel_input_ints(context, 0, &size_max, 1, &count));
    Stack *stack = memory_new(1, sizeof *stack);
    if (stack == NULL) {
        return call_fail_memory(context->call, "a stack");
    }
    resource_init(&stack->resource, &stack_type);
    mutex_init(&stack->lock);
    stack->device = context->device;
    stack->dtype = node_attr_type(context->node, "elem_type");
    stack->size_max = count == 0 || size_max < 0 ? STACK_SIZE_MAX : size_max;
    return kernel_handle(context, 0, &stack->resource);
}

static Status
find_stack(KernelContext *context, Stack **ret_stack)
{
    Resource *resource = NULL;
    TRY(kernel_resource(context, 0, &stack_type, &resource));
    *ret_stack = (Stack *)(void *)resource;
    return STATUS_OK;
}

static Status
check_open(Call *call, const Stack *stack)
{
    return stack->is_closed ? call_fail(call, STATUS_INVALID_ARGUMENT, "the stack has been closed")
                            : STATUS_OK;
}

static Status
make_room(Call *call, Stack *stack)
{
    if (stack->size >= stack->size_max || stack->size >= STACK_SIZE_MAX) {
        return call_fail(call, STATUS_RESOURCE_EXHAUSTED, "the stack is full: it takes %lld elements",
            (long long)(stack->size_max < STACK_SIZE_MAX ? stack->size_max : STACK_SIZE_MAX));
    }
    size_t used = (size_t)stack->size * sizeof(Tensor);
    size_t available = stack->room == NULL ? 0 : stack->room->size;
    if (used + sizeof(Tensor) > available) {
        if (!room_grow(stack->device, &stack->room, used, used == 0 ? STACK_BYTES_FIRST : 2 * used)) {
            return call_fail(call, STATUS_RESOURCE_EXHAUSTED, "no memory for a stack of %lld elements",
                (long long)stack->size + 1);
        }
        stack->elements = room_data(stack->room);
    }
    return STATUS_OK;
}

static Status
push_tensor(Call *call, Stack *stack, const Tensor *element)
{
    TRY(check_open(call, stack));
    if (element->dtype != stack->dtype) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "a %s tensor cannot go on a stack of %s",
            dtype_name(element->dtype), dtype_name(stack->dtype));
    }
    if (resource_of(element, &stack_type) != NULL) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "a stack holds no stacks");
    }
    TRY(make_room(call, stack));
    stack->elements[stack->size++] = tensor_ref(element);
    return STATUS_OK;
}

static Status
push_compute(KernelContext *context)
{
    Stack *stack = NULL;
    TRY(find_stack(context, &stack));
    mutex_lock(&stack->lock);
    Status status = push_tensor(context->call, stack, &context->inputs[1]);
    mutex_unlock(&stack->lock);
    TRY(status);
    kernel_alias(context, 1, 0, &context->inputs[1].shape);
    return STATUS_OK;
}

static Status
pop_tensor(Call *call, Stack *stack, Tensor *ret_element)
{
    TRY(check_open(call, stack));
    if (stack->size == 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "nothing is left on the stack");
    }
    *ret_element = stack->elements[--stack->size];
    return STATUS_OK;
}

static Status
pop_compute(KernelContext *context)
{
    Stack *stack = NULL;
    TRY(find_stack(context, &stack));
    mutex_lock(&stack->lock);
    Status status = pop_tensor(context->call, stack, &context->outputs[0]);
    mutex_unlock(&stack->lock);
    return status;
}

static Status
close_compute(KernelContext *context)
{
    Stack *stack = NULL;
    TRY(find_stack(context, &stack));
    mutex_lock(&stack->lock);
    stack_clear(stack);
    stack->is_closed = true;
    mutex_unlock(&stack->lock);
    return STATUS_OK;
}

static const Kernel stack_kernels[] = {
    {.op = "StackV2", .compute = new_compute, .host_inputs = 1, .is_cheap = true},
    {.op = "StackPushV2", .compute = push_compute, .is_cheap = true},
    {.op = "StackPopV2", .compute = pop_compute, .is_cheap = true, .sharing = KERNEL_LENDS},
    {.op = "StackCloseV2", .compute = close_compute, .is_cheap = true},
};

KERNEL_FAMILY(reference, stack, stack_kernels);
