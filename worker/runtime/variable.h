/* A variable: a tensor that steps read and write. A read is a snapshot: a reference to the buffer as it is. A
 * writer changes the buffer in place only when nobody else holds it, and copies it first otherwise, so that
 * no reader ever sees half of a write.
 *
 * Reference variables (VariableV2) and resource variables (VarHandleOp) are the same thing here: what flows
 * along an edge is a handle. The executor reads it for inputs that want a value.
 *
 * Ownership: a resource (resource.h).
 * Threads:   any. Reading and replacing lock inside; to change a value, variables_lock() first.
 * Errors:    FAILED_PRECONDITION for a value that was never assigned. */
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
    Slice name; /* for messages, and in the session; at most VARIABLE_NAME_MAX bytes are kept */
    Dtype dtype;
    Shape shape;         /* partly known */
    const Tensor *first; /* the value that the session's variable begins with; NULL: none */
} VariableDeclaration;

/* Not yet initialised. */
MUST_USE Status variable_new(Call *call, const VariableDeclaration *declaration, Variable **ret_variable);

/* The session's variable of this name, made when it is new; a new reference. It begins with its first value
 * only once: one that was reset or lost has none until it is assigned. INVALID_ARGUMENT when it has another
 * dtype. */
MUST_USE Status variable_obtain(
    KernelContext *context, const VariableDeclaration *declaration, Variable **ret_variable);

Slice variable_name(const Variable *variable);
Dtype variable_dtype(const Variable *variable);

bool variable_is_initialized(Variable *variable);
MUST_USE Status variable_read(Call *call, Variable *variable, Tensor *ret_value); /* a new reference */

/* The following are for a writer that has locked the variables: any number, in any order, the same twice
 * too; NULLs are passed over. */
enum { VARIABLES_LOCKED_MAX = 8 };
void variables_lock(Variable *const *variables, size_t count);
void variables_unlock(Variable *const *variables, size_t count);

/* The value; of dtype DTYPE_INVALID when it was never assigned. */
const Tensor *variable_value(const Variable *variable);

/* The declared shape. */
const Shape *variable_shape(const Variable *variable);

/* Takes *value (zeroes it). */
void variable_replace(Variable *variable, Tensor *value);

/* The value, whose elements are the caller's alone to change. FAILED_PRECONDITION, RESOURCE_EXHAUSTED. */
MUST_USE Status variable_own(KernelContext *context, Variable *variable, Tensor **ret_value);

/* The variable behind an input, as long as the input lives. A value in its place (a graph whose variables
 * were frozen) becomes a variable of its own behind that input. */
MUST_USE Status kernel_variable(KernelContext *context, uint32_t input, Variable **ret_variable);

/* Replaces a handle by a snapshot of its variable's value. */
MUST_USE Status variable_dereference(Call *call, Tensor *input);
