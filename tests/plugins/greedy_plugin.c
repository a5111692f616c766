/* A plugin that needs what no worker offers, and has a function of the worker's itself: tools/check_plugin
 * says so. */
#include "worker/runtime/plugin.h"

const void *worker_open(void);

void
call_cancel(Call *call)
{
    call->is_cancelled = worker_open() != NULL;
}

__attribute__((visibility("default"))) const Plugin *
sluice_plugin(void)
{
    static const Plugin plugin = {.build = PLUGIN_BUILD};
    Call call = {0};
    call_cancel(&call);
    return &plugin;
}
