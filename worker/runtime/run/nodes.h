/* A node's own part in a run: its kernel, or what the executor does itself.
 *
 * Threads: that of the ticket. */
#pragma once

#include "worker/runtime/run/ticket.h"

/* Runs a node that is ready, in a run that has not failed. */
void node_run(Ticket *ticket, Activation *activation);
