#include "gateway/sessions/session_end.h"

#include "gateway/partials/partial_run.h"
#include "shared/base/memory.h"

typedef struct SessionEnd {
    Task task; /* first */
    GatewayLoop *loop;
    TenantId tenant;
    SessionId session;
} SessionEnd;

static void
end_on_loop(Task *task)
{
    SessionEnd *const end = (SessionEnd *)(void *)task;
    running_steps_cancel_session(&end->loop->running, end->tenant, end->session);
    partial_runs_end_session(end->loop, end->tenant, end->session);
    memory_free(end);
}

void
session_end(const Gateway *gateway, TenantId tenant, SessionId session)
{
    graph_cache_drop(gateway->graphs, tenant, session);
    for (int index = 0; index < gateway->loop_count; index++) {
        SessionEnd *const end = memory_new(1, sizeof *end);
        if (end == NULL) {
            return;
        }
        *end = (SessionEnd){
            .task.run = end_on_loop, .loop = gateway->loops[index], .tenant = tenant, .session = session};
        loop_post(end->loop->loop, &end->task);
    }
}
