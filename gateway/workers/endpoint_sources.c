#include "gateway/workers/endpoint_sources.h"

#include "gateway/kubernetes/endpoint_watch.h"
#include "shared/base/buffer.h"
#include "shared/base/list.h"
#include "shared/base/memory.h"
#include "shared/telemetry/log.h"

typedef struct Source {
    EndpointSources *sources;
    size_t entry;
    EndpointWatch *watch;
} Source;

struct EndpointSources {
    Loop *loop;
    Discovery *discovery; /* NULL once it has stopped */
    size_t count;
    Source items[];
};

/* The endpoints of an entry, on their way to the loop. */
typedef struct EndpointMessage {
    Task task;
    const Source *source;
    size_t count;
    Endpoint endpoints[];
} EndpointMessage;

static void
hand_over(Task *task)
{
    EndpointMessage *message = LIST_ITEM(task, EndpointMessage, task);
    const Source *source = message->source;
    DiscoveryEndpoint endpoints[WORKER_COUNT_MAX];
    size_t count = message->count < WORKER_COUNT_MAX ? message->count : WORKER_COUNT_MAX;
    for (size_t index = 0; index < count; index++) {
        endpoints[index] =
            (DiscoveryEndpoint){.address = slice_from_string(message->endpoints[index].address),
                .takes_steps = message->endpoints[index].takes_steps};
    }
    if (source->sources->discovery != NULL) {
        discovery_set_endpoints(source->sources->discovery, source->entry, endpoints, count);
    }
    memory_free(message);
}

/* Implements EndpointWatchOptions.on_endpoints, on the watch's thread. */
static void
post_endpoints(void *context, const Endpoint *endpoints, size_t count)
{
    const Source *source = context;
    EndpointMessage *message = memory_new(1, sizeof *message + count * sizeof *endpoints);
    if (message == NULL) {
        log_event(LOG_WARNING, "no memory left for the endpoints of workers");
        return; /* the next change brings all of them */
    }
    message->task.run = hand_over;
    message->source = source;
    message->count = count;
    for (size_t index = 0; index < count; index++) {
        message->endpoints[index] = endpoints[index];
    }
    loop_post(source->sources->loop, &message->task);
}

static Status
watch_entry(Call *call, EndpointSources *sources, const EndpointSourcesOptions *options, size_t entry)
{
    Source *source = &sources->items[sources->count];
    *source = (Source){.sources = sources, .entry = entry};
    EndpointWatchOptions watch = {
        .service = slice_part(options->addresses[entry], DISCOVERY_KUBERNETES_PREFIX.size, SIZE_MAX),
        .api = options->access.api,
        .account = options->access.account,
        .on_endpoints = post_endpoints,
        .context = source,
    };
    TRY(endpoint_watch_new(call, &watch, &source->watch));
    sources->count++;
    return STATUS_OK;
}

Status
endpoint_sources_start(Call *call, const EndpointSourcesOptions *options, EndpointSources **ret_sources)
{
    EndpointSources *sources = memory_new(1, sizeof *sources + options->address_count * sizeof(Source));
    if (sources == NULL) {
        return call_fail_memory(call, "the watches of workers");
    }
    sources->loop = options->loop;
    sources->discovery = options->discovery;
    *ret_sources = sources; /* watches point to it from here on */
    for (size_t entry = 0; entry < options->address_count; entry++) {
        if (slice_starts_with(options->addresses[entry], DISCOVERY_KUBERNETES_PREFIX)) {
            TRY(watch_entry(call, sources, options, entry));
        }
    }
    return STATUS_OK;
}

void
endpoint_sources_stop(EndpointSources *sources)
{
    if (sources != NULL) {
        sources->discovery = NULL;
        for (; sources->count > 0; sources->count--) {
            endpoint_watch_free(sources->items[sources->count - 1].watch);
        }
    }
}

void
endpoint_sources_free(EndpointSources *sources)
{
    memory_free(sources);
}
