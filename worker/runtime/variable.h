/* A variable: a tensor that steps read and write. A read is a snapshot: a reference to the current buffer.
 * A writer changes the buffer itself only when nobody else holds it, and copies it first otherwise, so
 * that a reader never sees half of a write.
 *
 * The elements lie in the memory where they were assigned or last changed; a mirror of them may lie in
 * another, made for a reader there, until the next change. Kernels of a worker with an accelerator are run by
 * visit_kernel.h, which brings them to where the kernel wants them.
 *
 * Reference variables (VariableV2) and resource variables (VarHandleOp) are the same here: a handle
 * travels along the edge, and the executor reads the variable for an input that wants a value (where there is
 * an accelerator: a node before it, partition/references.c).
 *
 * Ownership: a resource (resource.h).
 * Threads:   any. Reads lock inside; writers call variables_lock() first.
 * Errors:    FAILED_PRECONDITION for a variable that has never been assigned. */
#pragma once

#include "worker/runtime/resource.h"

enum { VARIABLE_NAME_MAX = 511 };

typedef struct Variable Variable;

extern const ResourceType variable_type;

static inline Resource *
variable_resource(Variable *variable)
{
    return (Resource *)(void *)variable;
}

typedef struct VariableDeclaration {
    /* Key in the session's container; a variable keeps VARIABLE_NAME_MAX bytes of it, for messages. */
    Slice name;
    Dtype dtype;
    Shape shape;         /* may be partly unknown */
    const Tensor *first; /* the first value of the session's variable; NULL: none */
} VariableDeclaration;

/* Makes a variable that is not initialised. */
MUST_USE Status variable_new(Call *call, const VariableDeclaration *declaration, Variable **ret_variable);

/* Returns a new reference to the session's variable of this name, made if it does not exist. It gets its
 * first value only once: after it was reset or lost it has no value until it is assigned. INVALID_ARGUMENT
 * when it has another dtype. */
MUST_USE Status variable_obtain(
    KernelContext *context, const VariableDeclaration *declaration, Variable **ret_variable);

Slice variable_name(const Variable *variable);
Dtype variable_dtype(const Variable *variable);

/* Checks that the variable is of the dtype of something that changes it ("the updates are").
 * INVALID_ARGUMENT. */
MUST_USE Status variable_check_dtype(Call *call, const Variable *variable, Dtype dtype, const char *what);

bool variable_is_initialized(Variable *variable);

/* Returns a new reference to the current value, in whatever memory it lies. */
MUST_USE Status variable_read(Call *call, Variable *variable, Tensor *ret_value);

/* The visit of a kernel to variables whose elements may lie in another memory. When the kernel cannot go on
 * until a value has come, it fails with `wanted` set, has changed nothing, and is called again. */
struct VariableVisit {
    uint16_t memory;    /* where variable_fetch() returns values */
    Variable *wanted;   /* a reference to the variable whose value must come; NULL: nothing has to */
    uint16_t needed_in; /* the memory to which it must come */
    bool is_change;     /* it is wanted for a change, by whoever holds it alone */
    Variable *visited;  /* the variable whose value has come; NULL: none yet */
    Tensor value;       /* that value, as it was when it was sent for; not for a change */
};

/* Returns a new reference to the current value in the memory that the kernel's output is wanted in. */
MUST_USE Status variable_fetch(KernelContext *context, Variable *variable, Tensor *ret_value);

/* Checks that the value is initialised and lies in the memory of the kernel's device, where it may be changed
 * from then on: a mirror elsewhere is dropped. Needs the lock. */
MUST_USE Status variable_reach(KernelContext *context, Variable *variable);

/* Keeps a mirror of the value, unless that is not `value` any more or has one already. */
void variable_mirror(Variable *variable, const Tensor *value, const Tensor *mirror);

/* Locks up to VARIABLES_LOCKED_MAX variables, in any order; duplicates and NULLs are allowed. Needed
 * around variable_value(), variable_replace() and variable_own(). */
enum { VARIABLES_LOCKED_MAX = 8 };
void variables_lock(Variable *const *variables, size_t count);
void variables_unlock(Variable *const *variables, size_t count);

/* Returns the value; its dtype is DTYPE_INVALID when it was never assigned. */
const Tensor *variable_value(const Variable *variable);

/* Returns the declared shape, which may be partly unknown. */
const Shape *variable_shape(const Variable *variable);

/* Stores *value, whose reference moves to the variable. */
void variable_replace(Variable *variable, Tensor *value);

/* Returns the value for writing: copies it first when somebody else holds its buffer. FAILED_PRECONDITION,
 * RESOURCE_EXHAUSTED. For kernels that read and write the memory themselves. */
MUST_USE Status variable_own(KernelContext *context, Variable *variable, Tensor **ret_value);

/* Returns the variable of an input without a new reference: valid as long as the input. An input that is a
 * plain value (the graph's variables were frozen) becomes the handle of a new variable with that value. */
MUST_USE Status kernel_variable(KernelContext *context, uint32_t input, Variable **ret_variable);

/* Replaces a variable's handle by a snapshot of its value, which must lie on the host; leaves other tensors
 * alone. */
MUST_USE Status variable_dereference(Call *call, Tensor *input);
