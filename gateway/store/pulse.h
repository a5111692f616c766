/* The pulse of PostgreSQL: whether it answers at all, and whether it has room to write, as one connection
 * finds that asks it all the time (jobs/database_probe.h). A statement may take long while others are
 * answered; when nobody is, it is given up after a second, and no connection is waited for.
 *
 * Time in which this process itself was held up does not count: an answer may lie there unread. Therefore
 * silence is not measured from the question alone, but summed over the looks of those who wait, the probe
 * among them.
 *
 * A process has one database, so there is one pulse. Without a probe, PostgreSQL counts as answering.
 *
 * Threads: any. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
    PULSE_SILENT_MS = 1000,  /* a simple question that waits for so long is not going to be answered soon */
    PULSE_LOOK_MS = 100,     /* how often whoever waits for PostgreSQL looks */
    PULSE_LOOK_MAX_MS = 250, /* the most that one look counts, since a machine may be slow */
    PULSE_FULL_MS = 10000,   /* how long a disk counts as full after it was found so */
};

/* Note that a question is asked now, unless one waits already; and that the server has answered. */
void pulse_ask(uint64_t now_ns);
void pulse_answer(void);

/* Looks: returns whether a question was seen to wait for PULSE_SILENT_MS. */
bool pulse_is_silent(uint64_t now_ns);

/* Notes that a statement failed since the server's disk is full. */
void pulse_note_full(uint64_t now_ns);
bool pulse_is_full(uint64_t now_ns);
