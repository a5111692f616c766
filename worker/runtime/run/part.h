/* Runs a part of a partition (schedule.h): its members one after another, or all at once, when the
 * accelerator has captured what they do (captures.h).
 *
 * Threads: the one that has the ticket. */
#pragma once

#include "worker/runtime/run/ticket.h"

/* Runs the part of its first member, which is ready. */
void part_run(Ticket *ticket, Activation *activation, const ScheduleNode *first, bool is_dead);
