/* The name under which a node keeps a resource in its session: "[container;]shared name", or the node's
 * own.
 * Threads: any. */
#pragma once

#include "worker/runtime/kernel.h"

enum { NAMING_SIZE_MAX = 511 };

typedef struct Naming {
    Slice name;
    char bytes[];
} Naming;

/* Makes the name in a kernel's create(); memory_free() frees it. INVALID_ARGUMENT for a name that is too
 * long. */
MUST_USE Status naming_new(Call *call, const Node *node, void **ret_naming);
