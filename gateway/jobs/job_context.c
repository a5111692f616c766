#include "gateway/jobs/job_context.h"

#include <assert.h>

#include "shared/base/memory.h"

struct JobContext {
    const JobContextOptions *options;
    Store *stores[JOB_CONNECTIONS_MAX]; /* by role; NULL: not opened yet */
};

Status
job_context_new(Call *call, const void *options, JobContext **ret_context)
{
    assert(options != NULL);

    JobContext *context = memory_new(1, sizeof *context);
    if (context == NULL) {
        return call_fail_memory(call, "a job thread");
    }
    context->options = options;
    *ret_context = context;
    return STATUS_OK;
}

void
job_context_free(JobContext *context)
{
    for (size_t role = 0; role < JOB_CONNECTIONS_MAX; role++) {
        store_close(context->stores[role]);
    }
    memory_free(context);
}

Status
job_store(Call *call, JobContext *context, StoreRole role, Store **ret_store)
{
    assert(context != NULL && (size_t)role < JOB_CONNECTIONS_MAX);

    if (context->stores[role] == NULL) {
        StoreOptions options = {
            .conninfo = context->options->conninfo,
            .role = role,
            .blobs = context->options->blobs,
            .gateway = context->options->gateway,
        };
        TRY(store_open(call, &options, &context->stores[role]));
    }
    *ret_store = context->stores[role];
    return STATUS_OK;
}
