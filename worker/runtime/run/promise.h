/* Runs nodes whose kernel completes later (Kernel.start: barriers, queues, calls of functions). A promise
 * stands for the kernel until kernel_complete().
 *
 * Threads: promise_run() on the ticket's; the others on any. */
#pragma once

#include "shared/base/buffer.h"
#include "worker/runtime/run/ticket.h"

/* Starts the node's kernel and returns; the run goes on with other nodes meanwhile. */
void promise_run(Ticket *ticket, Activation *activation, const ScheduleNode *node, bool is_dead);

/* Tells the kernels that have not completed to cancel, each of them once. */
void promises_cancel(Run *run);

/* Appends "; begun: 'a', 'b' and 2 more" with the nodes whose kernels have not completed, or nothing. */
void promises_describe(Run *run, Buffer *text);
