/* Runs ready nodes in a loop, on whatever thread has a ticket. While other work waits for the thread, a
 * ticket gives way after some milliseconds, and its ready nodes queue behind that work: a short run waits for
 * a turn of a long one, not for its end.
 *
 * After a failure no further node runs: ready ones are dropped and tickets given back. With the last
 * ticket, run.c releases the tensors that stayed in slots. */
#pragma once

#include "worker/runtime/run/ticket.h"

/* Runs ready nodes until none is left, and gives the ticket back, which may end the run. Returns the
 * ticket's arena, which is now the caller's; NULL when the ticket has given way and took it along. */
MUST_USE Arena *executor_run(Ticket *ticket);

/* Implements RunHooks.run_node. */
void executor_run_node(DeviceWork *work);

/* Implements RunHooks.go_on. */
void executor_go_on(DeviceWork *work);
