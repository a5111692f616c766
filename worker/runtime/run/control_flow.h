/* Runs nodes that decide which others run, and how often. The rules are those of TensorFlow's executor.
 *
 * Each function runs one ready node and ends with ticket_propagate(), a function of frame.h, or
 * run_fail(). */
#pragma once

#include "worker/runtime/run/ticket.h"

void switch_run(Ticket *ticket, Activation *activation, const ScheduleNode *node, bool is_dead);
void merge_run(Ticket *ticket, Activation *activation, const ScheduleNode *node, bool is_dead);
void enter_run(Ticket *ticket, Activation *activation, const ScheduleNode *node, bool is_dead);
void exit_run(Ticket *ticket, Activation *activation, const ScheduleNode *node, bool is_dead);
void next_run(Ticket *ticket, Activation *activation, const ScheduleNode *node, bool is_dead);
void forward_run(Ticket *ticket, Activation *activation, const ScheduleNode *node, bool is_dead);
