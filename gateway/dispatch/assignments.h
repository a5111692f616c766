/* The devices that workers gave to partitions' nodes when they registered them, for plans that are
 * explained: the last answer for each digest. A digest is that of the partition's whole document, so that
 * tenants share no more than what both have written.
 *
 * Ownership: the directory's, which all loops share.
 * Threads:   any.
 * Errors:    without memory an answer is forgotten, and what it is about counts as not registered yet. */
#pragma once

#include "shared/base/call.h"
#include "shared/wire/messages.h"

typedef struct Assignments Assignments;

MUST_USE Assignments *assignments_new(void);
void assignments_free(Assignments *assignments); /* NULL is allowed */

/* Notes the answer of a worker, which may be one that tells nothing. */
void assignments_note(Assignments *assignments, Slice digest, const char *worker, Slice answer);

/* The last answer, in call->arena. */
typedef struct Assignment {
    const char *worker; /* name; NULL: nobody has registered the partition through this gateway */
    WireAssignment told;
} Assignment;

MUST_USE Status assignments_find(
    Call *call, Assignments *assignments, Slice digest, Assignment *ret_assignment);
