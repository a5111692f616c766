/* Runs one node: calls its kernel, or does itself what needs none (constants, feeds, fetches, transfers,
 * control flow).
 *
 * Threads: the one that has the ticket. */
#pragma once

#include "worker/runtime/run/ticket.h"

/* Runs a ready node of a run that has not failed. */
void node_run(Ticket *ticket, Activation *activation);
