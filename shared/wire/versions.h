/* Versions of the worker protocol. A program speaks a few neighbouring ones, so that a release can take the
 * place of the one before while both run; of those that two programs have in common they use the newest.
 *
 *   1  the first
 *   2  a pull of a tensor ends behind its answer, so that its sender knows what has arrived (RecvTensor)
 *
 * Threads:   pure functions.
 * Errors:    INVALID_ARGUMENT for a text that is no versions. */
#pragma once

#include "shared/base/call.h"
#include "shared/base/slice.h"

typedef struct WireVersions {
    int64_t oldest;
    int64_t newest;
} WireVersions;

enum { WIRE_VERSION_OLDEST = 1, WIRE_VERSION_NEWEST = 2, WIRE_VERSION_PULL_ENDS_LAST = 2 };
enum { WIRE_VERSIONS_TEXT_SIZE = 48 };

/* Tells the reader of a refusal what to do about two programs without a common version. */
#define WIRE_VERSIONS_ADVICE "upgrade by one release at a time"

/* Reads "1-2", or "2" for a single one. */
MUST_USE Status wire_versions_read(Call *call, Slice text, WireVersions *ret_versions);

/* Reads a setting: some of those that this program knows. */
MUST_USE Status wire_versions_choose(Call *call, Slice text, WireVersions *ret_versions);

void wire_versions_text(WireVersions versions, char ret_text[WIRE_VERSIONS_TEXT_SIZE]);

/* Returns all that this program knows for versions that nobody has set: 0 to 0. */
WireVersions wire_versions_or_all(WireVersions versions);

/* Returns the versions that both speak; 0 to 0: there is none. */
WireVersions wire_versions_common(WireVersions one, WireVersions other);

/* Returns the newest version that both speak; 0: there is none. */
int64_t wire_versions_agree(WireVersions one, WireVersions other);
