/* DELETE of the partitions of a plan that is over, at each worker that this loop knows to have them. Nobody
 * waits for the answers; what is too much at once is left to the workers' own caches. */
#include <stdio.h>

#include "gateway/dispatch/internals.h"
#include "gateway/dispatch/step.h"

enum { UNDER_WAY_MAX = 1024, PATH_SIZE = 256, DEREGISTER_TIMEOUT_MS = 5000 };

typedef struct Deregistration {
    Dispatcher *dispatcher;
    Slice path;
    Slice tenant;
} Deregistration;

static void
deregistered(UpstreamCall *call, Status status, const char *message)
{
    Dispatcher *dispatcher = upstream_context(call);
    dispatcher->deregistering_count--;
    (void)status;
    (void)message;
}

static void
tell_worker(void *context, const char *address, const char *incarnation)
{
    static const UpstreamEvents events = {.on_done = deregistered};
    const Deregistration *wanted = context;
    Dispatcher *dispatcher = wanted->dispatcher;
    UpstreamHead head = {
        .method = "DELETE",
        .path = wanted->path,
        .address = address,
        .incarnation = slice_from_string(incarnation),
        .deadline_ms = DEREGISTER_TIMEOUT_MS,
        .tenant = wanted->tenant,
    };
    UpstreamCall *call = dispatcher->deregistering_count >= UNDER_WAY_MAX
                             ? NULL
                             : upstream_begin(dispatcher->upstream, &head, &events, dispatcher);
    if (call != NULL) {
        dispatcher->deregistering_count++;
        upstream_end(call);
    }
}

void
dispatcher_deregister(Dispatcher *dispatcher, const char *tenant, const char *session, const Plan *plan)
{
    Deregistration wanted = {.dispatcher = dispatcher, .tenant = slice_from_string(tenant)};
    for (size_t index = 0; !dispatcher->is_closing && index < plan->partition_count; index++) {
        const PlanPartition *partition = &plan->partitions[index];
        char path[PATH_SIZE];
        (void)snprintf(path, sizeof path, "/worker/v1/sessions/%s/partitions/%s", session, partition->digest);
        wanted.path = slice_from_string(path);
        bind_forget_holders(dispatcher, partition, tell_worker, &wanted);
    }
}
