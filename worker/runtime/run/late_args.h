/* Feeds that come while their run goes on (TensorFlow's partial runs), inside the runtime: an _Arg whose
 * tensor is not there yet waits as a Recv does, as one ticket more.
 *
 * Threads: any; under the run's lock. */
#pragma once

#include "shared/base/buffer.h"
#include "worker/runtime/partition/schedule.h"

typedef struct Activation Activation;
typedef struct LateArg LateArg;
typedef struct Ticket Ticket;

/* Room for waiting: from now on args may be absent. False without memory. */
MUST_USE bool late_args_expect(Run *run);

/* Of an _Arg that is to run: true when its tensor is not there; the node runs again when it has come. */
bool late_arg_awaits(const Ticket *ticket, Activation *activation, const ScheduleNode *node);

/* Nothing is waited for any more: the run has failed. */
void late_args_give_up(Run *run);

/* "; waiting for feeds: 'a', 'b' and 2 more" */
void late_args_describe(Run *run, Buffer *text);
