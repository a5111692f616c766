/* A plugin that needs a function that no worker has. */
#include "worker/runtime/plugin.h"

const Plugin *function_that_no_worker_has(void);

__attribute__((visibility("default"))) const Plugin *
sluice_plugin(void)
{
    return function_that_no_worker_has();
}
