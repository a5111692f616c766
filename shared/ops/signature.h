/* Parses the text of an op's signature (grammar: family.h) into an Op.
 *
 * Ownership: everything the Op points to lives in the arena or in the definition's text.
 * Threads:   any; one arena, one thread.
 * Errors:    false for a text that breaks the grammar, with the part where it stopped. */
#pragma once

#include "shared/ops/family.h"

/* `ret_error` is the part of the signature that could not be parsed; "" when memory was short. */
MUST_USE bool signature_parse(Arena *arena, const OpDefinition *definition, Op *ret_op, Slice *ret_error);
