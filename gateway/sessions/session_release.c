#include "gateway/sessions/session_release.h"

#include "shared/base/memory.h"

typedef struct Release {
    Task task;
    GatewayLoop *loop;
    char tenant[UUID_TEXT_SIZE];
    char session[ID_TEXT_SIZE];
    SessionPlaces places;
} Release;

static void
release_on_loop(Task *task)
{
    Release *const release = (Release *)(void *)((char *)task - offsetof(Release, task));
    GatewayLoop *const loop = release->loop;
    Roster *const roster = directory_take(loop->gateway->directory);
    for (size_t index = 0; index < release->places.count && !loop->is_closing; index++) {
        const WorkerInfo *const worker =
            roster_find_name(roster, slice_from_string(release->places.items[index].worker));
        if (worker != NULL && worker->state != WORKER_LOST) {
            dispatcher_release_session(loop->dispatcher, release->tenant, release->session, worker->address);
        }
    }
    roster_unref(roster);
    memory_free(release);
}

void
session_release(GatewayLoop *loop, TenantId tenant, SessionId session, const SessionPlaces *places)
{
    Release *const release = places->count == 0 ? NULL : memory_new(1, sizeof *release);
    if (release == NULL) {
        return;
    }
    release->loop = loop;
    release->places = *places;
    uuid_to_text(tenant.value, release->tenant);
    id_to_text("ses", session.value, release->session);
    release->task.run = release_on_loop;
    loop_post(loop->loop, &release->task);
}
