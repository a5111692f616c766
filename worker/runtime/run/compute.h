/* Computes one node by its kernel, on the device that the schedule gives it, and notes what that took.
 *
 * Threads: the one that has the ticket. */
#pragma once

#include "worker/runtime/run/ticket.h"

/* Returns what a kernel is told about a node of the ticket's run. */
KernelContext node_context(Ticket *ticket, const ScheduleNode *node, Tensor *inputs, Tensor *outputs);

/* Notes that a node is dead in this run. Until it has been measured it counts as cheap: of two branches, the
 * one that is not taken makes no run long. */
void node_note_dead(const Ticket *ticket, uint32_t id);

/* Computes the node, and releases its inputs. False: it failed, the reason is in the ticket's call, and
 * `outputs` may have some outputs. */
MUST_USE bool node_compute(Ticket *ticket, Activation *activation, const ScheduleNode *node, Tensor *outputs);
