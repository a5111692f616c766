/* The loop that runs ready nodes, on whatever thread has a ticket.
 *
 * After a failure nothing new is done: ready nodes are dropped, tickets come back, and run.c, at the end of
 * the last one, releases the tensors that stayed in slots. */
#pragma once

#include "worker/runtime/run/ticket.h"

/* Runs ready nodes until none is left, and gives the ticket back, which may end the run. Returns the arena.
 */
MUST_USE Arena *executor_run(Ticket *ticket);

/* RunHooks.run_node. */
void executor_run_node(DeviceWork *work);

/* RunHooks.go_on. */
void executor_go_on(DeviceWork *work);
