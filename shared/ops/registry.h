/* Every operation that exists, parsed once per process from the families' signatures.
 * Threads: the first use initialises under a once; then immutable. */
#pragma once

#include "shared/graph/op.h"

const Op *op_find(Slice name);
size_t op_count(void);
const Op *op_at(size_t index); /* sorted by name */
