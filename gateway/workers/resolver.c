#include "gateway/workers/resolver.h"

#include <assert.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "shared/base/memory.h"
#include "shared/telemetry/log.h"

enum { NAME_SIZE = 256 };

typedef struct Resolution {
    Job job;
    Discovery **discovery;
    size_t entry;
    char name[NAME_SIZE]; /* without the port */
    char port[8];
    const char *error;
    size_t address_count;
    char addresses[WORKER_COUNT_MAX][ADDRESS_TEXT_SIZE];
} Resolution;

/* Writes an address as "10.0.0.7:8471" or "[fd00::7]:8471". */
static bool
address_write(const struct addrinfo *info, const char *port, char ret_text[ADDRESS_TEXT_SIZE])
{
    char host[ADDRESS_TEXT_SIZE - 12];
    if (getnameinfo(info->ai_addr, info->ai_addrlen, host, sizeof host, NULL, 0, NI_NUMERICHOST) != 0) {
        return false;
    }
    bool is_v6 = info->ai_family == AF_INET6;
    (void)snprintf(ret_text, ADDRESS_TEXT_SIZE, "%s%s%s:%s", is_v6 ? "[" : "", host, is_v6 ? "]" : "", port);
    return true;
}

static void
resolve_name(Job *job, JobContext *context)
{
    (void)context;
    Resolution *resolution = (Resolution *)(void *)job;
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    int code = getaddrinfo(resolution->name, resolution->port, &hints, &found);
    if (code != 0) {
        resolution->error = gai_strerror(code);
        return;
    }
    for (const struct addrinfo *info = found; info != NULL && resolution->address_count < WORKER_COUNT_MAX;
         info = info->ai_next) {
        char *text = resolution->addresses[resolution->address_count];
        resolution->address_count += address_write(info, resolution->port, text) ? 1 : 0;
    }
    freeaddrinfo(found);
}

static void
tell_addresses(Job *job)
{
    Resolution *resolution = (Resolution *)(void *)job;
    Slice addresses[WORKER_COUNT_MAX];
    for (size_t index = 0; index < resolution->address_count; index++) {
        addresses[index] = slice_from_string(resolution->addresses[index]);
    }
    if (resolution->error != NULL) {
        log_event(LOG_WARNING, "a name of workers does not resolve", log_text("name", resolution->name),
            log_text("error", resolution->error));
    } else if (*resolution->discovery != NULL) {
        discovery_set_addresses(
            *resolution->discovery, resolution->entry, addresses, resolution->address_count);
    }
    memory_free(resolution);
}

void
resolver_ask(const ResolverTarget *target, size_t entry, Slice name_and_port)
{
    assert(target->loop != NULL && target->discovery != NULL);

    Resolution *resolution = memory_new(1, sizeof *resolution);
    size_t colon = slice_find_last(name_and_port, ':');
    if (resolution == NULL) {
        return; /* discovery asks again in a few seconds */
    }
    *resolution = (Resolution){
        .job = {.loop = target->loop, .run = resolve_name, .done = tell_addresses},
        .discovery = target->discovery,
        .entry = entry,
    };
    (void)snprintf(resolution->name, NAME_SIZE, "%.*s", SLICE_PRINT(slice_part(name_and_port, 0, colon)));
    (void)snprintf(resolution->port, sizeof resolution->port, "%.*s",
        SLICE_PRINT(slice_part(name_and_port, colon + 1, sizeof resolution->port - 1)));
    if (!job_submit(target->jobs, &resolution->job)) {
        memory_free(resolution);
    }
}
