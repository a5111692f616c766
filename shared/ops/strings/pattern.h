/* Regular expressions in the syntax of RE2, matched in time linear in the text: alternatives, groups (which
 * capture nothing), repetitions, greedy or not, classes, \d \w \s \b and their opposites, ^ and $ (of the
 * whole text). The first of several matches at one place is that of the first alternative, as in Perl.
 *
 * Ownership: pattern_new() gives the pattern to the caller; a room is its maker's.
 * Threads:   a pattern is immutable; each search has a room of its own.
 * Errors:    INVALID_ARGUMENT for a damaged pattern, UNIMPLEMENTED for flags, \p and named classes,
 *            RESOURCE_EXHAUSTED for one that is too large. */
#pragma once

#include "shared/base/call.h"

typedef struct Pattern Pattern;
typedef struct PatternRoom PatternRoom;

MUST_USE Status pattern_new(Call *call, Slice text, Pattern **ret_pattern);
void pattern_free(Pattern *pattern); /* NULL is allowed */

MUST_USE PatternRoom *pattern_room_new(const Pattern *pattern); /* NULL without memory */
void pattern_room_free(PatternRoom *room);

static inline void
pattern_room_freep(PatternRoom **room)
{
    pattern_room_free(*room);
}
#define AUTO_PATTERN_ROOM CLEANUP(pattern_room_freep) PatternRoom *

/* Has searches end, without a match, once the call is over. */
void pattern_room_watch(PatternRoom *room, const Call *call);

/* Returns whether the whole text matches. */
bool pattern_matches(const Pattern *pattern, Slice text, PatternRoom *room);

/* Finds the leftmost match that begins at or behind byte `from`; false when there is none. */
bool pattern_find(const Pattern *pattern, Slice text, size_t from, PatternRoom *room, Slice *ret_match);
