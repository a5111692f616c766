/* Tells a worker that a session is over, so that it gives back what the session kept. Nothing hangs on the
 * answer: a worker that does not hear forgets what nobody uses. */
#include <stdio.h>

#include "gateway/dispatch/step_internal.h"

enum { PATH_SIZE = 128, RELEASE_TIMEOUT_MS = 5000 };

static void
release_done(UpstreamCall *call, Status status, const char *message)
{
    (void)call;
    (void)status;
    (void)message;
}

void
dispatcher_release_session(
    Dispatcher *dispatcher, const char *tenant, const char *session, const char *address)
{
    static const UpstreamEvents events = {.on_done = release_done};
    char path[PATH_SIZE];
    (void)snprintf(path, sizeof path, "/worker/v1/sessions/%s", session);
    const UpstreamHead head = {
        .method = "DELETE",
        .path = slice_from_string(path),
        .address = address,
        .deadline_ms = RELEASE_TIMEOUT_MS,
        .tenant = slice_from_string(tenant),
    };
    UpstreamCall *const call = upstream_begin(dispatcher->upstream, &head, &events, NULL);
    if (call != NULL) {
        upstream_end(call);
    }
}
