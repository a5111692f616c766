#include "worker/reference/moved_strings.h"

#include <assert.h>

#include "shared/base/memory.h"
#include "worker/reference/retyped.h"
#include "worker/reference/texts.h"

static_assert(sizeof(Slice) == 2 * sizeof(double), "a string is moved as a complex128 is");

/* The kernel's state: the node as it would be with numbers in the place of strings, and who computes it. */
typedef struct MovedStrings {
    Node *numbers;
    const Kernel *kernel;
} MovedStrings;

/* The arguments of the kernel of the numbers, in one block of memory. */
typedef struct MovedArguments {
    Tensor *tensors; /* inputs, then outputs */
    size_t count;
} MovedArguments;

static Dtype
moved_as(Dtype dtype)
{
    return dtype == DTYPE_STRING ? DTYPE_COMPLEX128 : dtype;
}

static bool
can_move(const Node *node, uint32_t input)
{
    if (input >= node->input_count || node->input_dtypes[input] != DTYPE_STRING) {
        return false;
    }
    AUTO_MEMORY Node *numbers = retyped_node(node, moved_as);
    return numbers != NULL && kernel_find_reference(numbers) != NULL;
}

bool
moved_strings_first(const Node *node)
{
    return can_move(node, 0);
}

bool
moved_strings_second(const Node *node)
{
    return can_move(node, 1);
}

bool
moved_strings_third(const Node *node)
{
    return can_move(node, 2);
}

void
moved_strings_destroy(void *state)
{
    MovedStrings *moved = state;
    memory_free(moved->numbers);
    memory_free(moved);
}

Status
moved_strings_create(Call *call, const Node *node, void **ret_state)
{
    MovedStrings *moved = memory_new(1, sizeof *moved);
    if (moved == NULL || (moved->numbers = retyped_node(node, moved_as)) == NULL) {
        memory_free(moved);
        return call_fail_memory(call, "a kernel of strings");
    }
    moved->kernel = kernel_find_reference(moved->numbers);
    assert(moved->kernel != NULL && moved->kernel->create == NULL);
    *ret_state = moved;
    return STATUS_OK;
}

static void
arguments_done(MovedArguments *arguments)
{
    for (size_t i = 0; i < arguments->count; i++) {
        tensor_unref(&arguments->tensors[i]);
    }
    memory_free(arguments->tensors);
}

static Status
lend_inputs(const KernelContext *context, MovedArguments *ret_arguments)
{
    size_t count = (size_t)context->input_count + context->output_count;
    Tensor *tensors = memory_new(count, sizeof *tensors);
    if (tensors == NULL) {
        return call_fail_memory(context->call, "strings that are moved");
    }
    for (uint32_t i = 0; i < context->input_count; i++) {
        tensors[i] = tensor_ref(&context->inputs[i]);
        tensors[i].dtype = moved_as(tensors[i].dtype);
    }
    *ret_arguments = (MovedArguments){.tensors = tensors, .count = count};
    return STATUS_OK;
}

static Status
copy_outputs(KernelContext *context, Tensor *moved)
{
    for (uint32_t i = 0; i < context->output_count; i++) {
        if (context->node->output_dtypes[i] != DTYPE_STRING) {
            context->outputs[i] = moved[i];
            moved[i] = (Tensor){0};
        } else if (moved[i].dtype != DTYPE_INVALID) {
            TRY(texts_new(context, &moved[i].shape, moved[i].data, &context->outputs[i]));
        }
    }
    return STATUS_OK;
}

Status
moved_strings_compute(KernelContext *context)
{
    const MovedStrings *moved = context->state;
    CLEANUP(arguments_done) MovedArguments arguments = {0};
    TRY(lend_inputs(context, &arguments));
    KernelContext numbers = *context;
    numbers.node = moved->numbers;
    numbers.state = NULL;
    numbers.inputs = arguments.tensors;
    numbers.outputs = arguments.tensors + context->input_count;
    numbers.memory = NULL; /* planned for the outputs of strings */
    TRY(moved->kernel->compute(&numbers));
    return copy_outputs(context, numbers.outputs);
}
