/* One run of a part (part.h), as all its turns know it, and the plain one.
 *
 * Threads: the one that has the ticket.
 * Errors:  what fails is told to the run as a failure of the member. */
#pragma once

#include "worker/runtime/run/ticket.h"

typedef struct PartRun {
    Ticket *ticket;
    Iteration *iteration;
    const SchedulePart *part;
    Device *device;
    Captures *captures;
    Capture *capture;
    Tensor *inputs;  /* held for the whole turn, by PartInput */
    Tensor *outputs; /* by PartOutput */
    DeviceMove *moves;
} PartRun;

static inline const ScheduleNode *
part_node(const PartRun *run, uint32_t member)
{
    return &run->ticket->partition->nodes[run->part->members[member].node];
}

static inline Activation *
part_activation(const PartRun *run, uint32_t member)
{
    return &run->iteration->activations[part_node(run, member)->cell];
}

static inline const Tensor *
part_input(const PartRun *run, uint32_t input)
{
    return &run->iteration->slots[run->part->inputs[input].slots[0]];
}

/* Begins to note times of a member that has a record of its own. */
void part_trace_member(const PartRun *run, uint32_t member);

/* Fails the run with the reason in its call, as of this member. */
void part_fail_member(const PartRun *run, uint32_t member);

/* Computes the members one after another, and passes the outputs of each on. */
void part_run_plainly(const PartRun *run);
