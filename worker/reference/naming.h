/* The name under which a node keeps something in its session: "[container;]shared name", or its own.
 * Threads: any. */
#pragma once

#include "worker/runtime/kernel.h"

enum { NAMING_SIZE_MAX = 511 };

typedef struct Naming {
    Slice name;
    char bytes[];
} Naming;

/* For a kernel's create(); memory_free() gives it back. INVALID_ARGUMENT for a name that is too long. */
MUST_USE Status naming_new(Call *call, const Node *node, void **ret_naming);
