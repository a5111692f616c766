/* A variable: a tensor that steps read and write. A read is a snapshot: a reference to the current buffer.
 * A writer changes the buffer itself only when nobody else holds it, and copies it first otherwise, so
 * that a reader never sees half of a write.
 *
 * Reference variables (VariableV2) and resource variables (VarHandleOp) are the same here: a handle
 * travels along the edge, and the executor reads the variable for an input that wants a value.
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

bool variable_is_initialized(Variable *variable);

/* Returns a new reference to the current value. */
MUST_USE Status variable_read(Call *call, Variable *variable, Tensor *ret_value);

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
 * RESOURCE_EXHAUSTED. */
MUST_USE Status variable_own(KernelContext *context, Variable *variable, Tensor **ret_value);

/* Returns the variable of an input without a new reference: valid as long as the input. An input that is a
 * plain value (the graph's variables were frozen) becomes the handle of a new variable with that value. */
MUST_USE Status kernel_variable(KernelContext *context, uint32_t input, Variable **ret_variable);

/* Replaces a variable's handle by a snapshot of its value; leaves other tensors alone. */
MUST_USE Status variable_dereference(Call *call, Tensor *input);
