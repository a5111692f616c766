/* _Arg nodes, whose feeds may come while the run goes on (TensorFlow's partial runs): one whose feed has not
 * come waits as a Recv does.
 *
 * Threads: any; what waits is under the run's lock. */
#pragma once

#include "shared/base/buffer.h"
#include "worker/runtime/run/ticket.h"

/* Runs a ready _Arg: passes its feed on, or waits for it. */
void arg_run(Ticket *ticket, Activation *activation, const ScheduleNode *node, bool is_dead);

/* Lets args be absent. False without memory. */
MUST_USE bool late_args_expect(Run *run);

/* run_feed(). */
MUST_USE Status late_args_take(Call *call, Run *run, uint32_t index, Tensor *tensor);

/* Ends all waiting: the run has failed. */
void late_args_give_up(Run *run);

/* Appends "; waiting for feeds: 'a', 'b' and 2 more". */
void late_args_describe(Run *run, Buffer *text);
