/* The turns of a part that measure it, capture it and replay it (captures.h).
 *
 * Threads: the one that has the ticket.
 * Errors:  what cannot be captured is run plainly; what fails then fails the run. */
#pragma once

#include "worker/runtime/run/part_plain.h"

/* Runs the part as `turn` says, which is not CAPTURE_PLAIN, and ends the turn. */
void part_run_turn(PartRun *run, CaptureTurn turn);
