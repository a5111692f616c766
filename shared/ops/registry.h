/* Every operation that exists, parsed once a process from the families' signatures.
 * Threads: the first use parses under a once; immutable afterwards. */
#pragma once

#include "shared/graph/op.h"

const Op *op_find(Slice name);
size_t op_count(void);
const Op *op_at(size_t index); /* sorted by name */
