/* Runs _Arg nodes. Their feeds may arrive while the run goes on (TensorFlow's partial runs): an _Arg whose
 * feed has not arrived waits, as a _Recv does.
 *
 * Threads: any; waits are guarded by the run's lock. */
#pragma once

#include "shared/base/buffer.h"
#include "worker/runtime/run/ticket.h"

/* Runs a ready _Arg: passes its feed on, or waits for it. */
void arg_run(Ticket *ticket, Activation *activation, const ScheduleNode *node, bool is_dead);

/* Prepares a run for feeds that come later, with run_feed(). False without memory. */
MUST_USE bool late_args_expect(Run *run);

/* Implements run_feed() (run.h). */
MUST_USE Status late_args_take(Call *call, Run *run, uint32_t index, Tensor *tensor);

/* Ends all waits for feeds of a run that has failed, each of which held a ticket. */
void late_args_give_up(Run *run);

/* Appends "; waiting for feeds: 'a', 'b' and 2 more", or nothing when no node waits for one. */
void late_args_describe(Run *run, Buffer *text);
