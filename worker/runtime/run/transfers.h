/* Runs _Send and _Recv, the nodes that exchange tensors by the run's rendezvous.
 *
 * Each function runs one ready node and ends with ticket_propagate() or run_fail(); a _Recv whose value
 * has not come waits. */
#pragma once

#include "worker/runtime/run/ticket.h"

void send_run(Ticket *ticket, Activation *activation, const ScheduleNode *node, bool is_dead);
void receive_run(Ticket *ticket, Activation *activation, const ScheduleNode *node, bool is_dead);
