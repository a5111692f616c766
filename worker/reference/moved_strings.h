/* Strings that are moved: joined, cut, repeated, turned, chosen. In a tensor a string is a Slice of 16 bytes.
 * An op's kernel for numbers of 16 bytes moves them in its place; its outputs are copied at the end, with
 * the bytes that the strings are made of. A family's table has a row for it behind that of the numbers:
 *
 *     {.op = "Pack", .supports = supports_first, .compute = pack_compute},
 *     MOVED_STRINGS("Pack", first),             its first input has the strings
 *
 * The kernel of the numbers must have no state, and only move what the strings stand for.
 *
 * Threads: any.
 * Errors:  those of the kernel; RESOURCE_EXHAUSTED. */
#pragma once

#include "worker/runtime/kernel.h"

MUST_USE Status moved_strings_create(Call *call, const Node *node, void **ret_state);
void moved_strings_destroy(void *state);
MUST_USE Status moved_strings_compute(KernelContext *context);

/* Return whether this input of the node has strings and a kernel for numbers can move them. */
bool moved_strings_first(const Node *node);
bool moved_strings_second(const Node *node);
bool moved_strings_third(const Node *node);

#define MOVED_STRINGS(name, input)                                                                           \
    {                                                                                                        \
        .op = (name), .supports = moved_strings_##input, .create = moved_strings_create,                     \
        .destroy = moved_strings_destroy, .compute = moved_strings_compute                                   \
    }
