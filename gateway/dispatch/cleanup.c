/* CleanupGraph: a worker frees what it keeps for a step that is over. One that does not answer is told again,
 * ever more rarely, until it would forget the step by itself: a step's deadline may be a day away, and a
 * large tensor that nobody fetches would stay in the worker's memory until then. A worker that has taken the
 * place of the one that was asked keeps nothing, and does no harm when it is told. */
#include <stdio.h>

#include "gateway/dispatch/internals.h"
#include "shared/base/clock.h"
#include "shared/base/memory.h"

enum {
    PATH_SIZE = 128,
    CLEANUP_TIMEOUT_MS = 5000,
    FIRST_PAUSE_MS = 250,
    LONGEST_PAUSE_MS = 30000,
    WAITING_MAX = 1024, /* the workers of others are left to the steps' deadlines */
    /* From a step's deadline to when a worker forgets it (worker/serve/step_table.c). */
    FORGOTTEN_AFTER_MS = 60000,
};

typedef struct Cleanup {
    ListLink link; /* in dispatcher->cleanups, while it waits */
    Timer again;
    Dispatcher *dispatcher;
    uint64_t pause_ms;
    uint64_t until_ns;
    int64_t attempt;
    char path[PATH_SIZE];
    char address[ADDRESS_TEXT_SIZE];
} Cleanup;

static void cleanup_call(Cleanup *cleanup);

static void
call_again(Timer *timer)
{
    Cleanup *cleanup = LIST_ITEM(timer, Cleanup, again);
    list_remove(&cleanup->link);
    cleanup->dispatcher->cleanup_count--;
    cleanup_call(cleanup);
}

/* Sets the timer of a cleanup that did not get through. False: it is too late, or one too many. */
static bool
wait_for_worker(Cleanup *cleanup)
{
    Dispatcher *dispatcher = cleanup->dispatcher;
    uint64_t again_ns = loop_now_ns(dispatcher->loop) + cleanup->pause_ms * CLOCK_NS_PER_MS;
    if (dispatcher->is_closing || dispatcher->cleanup_count >= WAITING_MAX || again_ns > cleanup->until_ns) {
        return false;
    }
    cleanup->pause_ms = cleanup->pause_ms < LONGEST_PAUSE_MS / 2 ? 2 * cleanup->pause_ms : LONGEST_PAUSE_MS;
    list_append(&dispatcher->cleanups, &cleanup->link);
    dispatcher->cleanup_count++;
    timer_set(dispatcher->loop, &cleanup->again, again_ns);
    return true;
}

static void
cleanup_done(UpstreamCall *call, Status status, const char *message)
{
    Cleanup *cleanup = upstream_context(call);
    (void)message;
    if (status == STATUS_OK || !wait_for_worker(cleanup)) {
        memory_free(cleanup);
    }
}

static void
cleanup_call(Cleanup *cleanup)
{
    static const UpstreamEvents events = {.on_done = cleanup_done};
    UpstreamHead head = {
        .method = "DELETE",
        .path = slice_from_string(cleanup->path),
        .address = cleanup->address,
        .attempt = cleanup->attempt,
        .deadline_ms = CLEANUP_TIMEOUT_MS,
    };
    UpstreamCall *call = upstream_begin(cleanup->dispatcher->upstream, &head, &events, cleanup);
    if (call != NULL) {
        upstream_end(call);
    } else if (!wait_for_worker(cleanup)) {
        memory_free(cleanup);
    }
}

/* Tells one worker; without memory it forgets the step by itself. */
static void
tell_worker(const StepRun *step, const char *address)
{
    Cleanup *cleanup = memory_new(1, sizeof *cleanup);
    if (cleanup == NULL) {
        return;
    }
    cleanup->dispatcher = step->dispatcher;
    cleanup->again.fire = call_again;
    cleanup->pause_ms = FIRST_PAUSE_MS;
    cleanup->until_ns = step->deadline_ns + FORGOTTEN_AFTER_MS * CLOCK_NS_PER_MS;
    cleanup->attempt = step_wire_attempt(step);
    (void)snprintf(cleanup->path, sizeof cleanup->path, "/worker/v1/steps/%s", step->id_text);
    (void)snprintf(cleanup->address, sizeof cleanup->address, "%s", address);
    cleanup_call(cleanup);
}

void
cleanup_send(StepRun *step)
{
    uint64_t told[WORKER_COUNT_MAX / 64] = {0}; /* a bit for each worker of the roster */
    for (size_t index = 0; index < step->slot_count; index++) {
        const SlotRun *slot = &step->slots[index];
        if (slot->state == SLOT_IDLE || slot->state == SLOT_REGISTERING) {
            continue;
        }
        uint64_t bit = UINT64_C(1) << slot->worker % 64;
        if ((told[slot->worker / 64] & bit) != 0) {
            continue; /* it ends all slots of the step that it has */
        }
        told[slot->worker / 64] |= bit;
        tell_worker(step, slot_worker(slot)->address);
    }
}

void
cleanups_end(Dispatcher *dispatcher)
{
    LIST_EACH(&dispatcher->cleanups, link)
    {
        Cleanup *cleanup = LIST_ITEM(link, Cleanup, link);
        list_remove(&cleanup->link);
        timer_clear(dispatcher->loop, &cleanup->again);
        memory_free(cleanup);
    }
}
