/* Kernels that complete later, inside the runtime: what a node that began one leaves behind. */
#pragma once

#include "shared/base/buffer.h"
#include "worker/runtime/run/ticket.h"

/* Starts the node's kernel; the run goes on without it. */
void promise_run(Ticket *ticket, Activation *activation, const ScheduleNode *node, bool is_dead);

/* Tells all kernels of the run that have not completed, each once. */
void promises_cancel(Run *run);

/* "; begun: 'a', 'b' and 2 more" for those that have not completed. */
void promises_describe(Run *run, Buffer *text);
