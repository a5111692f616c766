#include <string.h>

#include "gateway/dispatch/step_internal.h"
#include "shared/base/memory.h"

/* --- The dispatcher ------------------------------------------------------------------------------------- */

Dispatcher *
dispatcher_new(Loop *loop, Directory *directory, const UpstreamOptions *options)
{
    Dispatcher *const dispatcher = memory_new(1, sizeof *dispatcher);
    if (dispatcher == NULL) {
        return NULL;
    }
    list_init(&dispatcher->steps);
    dispatcher->loop = loop;
    dispatcher->directory = directory;
    dispatcher->workers = directory_take(directory);
    dispatcher->upstream = upstream_new(loop, options);
    dispatcher->registrations = map_new();
    dispatcher->holders = map_new();
    dispatcher->loads = map_new();
    if (dispatcher->upstream == NULL || dispatcher->registrations == NULL || dispatcher->holders == NULL ||
        dispatcher->loads == NULL) {
        dispatcher_free(dispatcher);
        return NULL;
    }
    return dispatcher;
}

static void
loads_free(Map *loads)
{
    size_t cursor = 0;
    if (loads == NULL) {
        return;
    }
    for (const MapEntry *entry = map_next(loads, &cursor); entry != NULL; entry = map_next(loads, &cursor)) {
        memory_free(entry->value);
    }
    map_free(loads);
}

void
dispatcher_free(Dispatcher *dispatcher)
{
    if (dispatcher == NULL) {
        return;
    }
    while (!list_is_empty(&dispatcher->steps)) {
        StepRun *const step = LIST_ITEM(list_first(&dispatcher->steps), StepRun, link);
        step_end(step, STATUS_UNAVAILABLE, "the gateway is stopping");
        step_finish(step);
    }
    upstream_free(dispatcher->upstream);
    map_free(dispatcher->registrations);
    map_free(dispatcher->holders);
    loads_free(dispatcher->loads);
    roster_unref(dispatcher->workers);
    memory_free(dispatcher);
}

size_t
dispatcher_running_count(const Dispatcher *dispatcher)
{
    return dispatcher->step_count;
}
