/* Happy path: the shared object is loaded → sluice_plugin() tells what it brings → its build is compared with
 * ours → its kernels are registered → its device is opened. What fails undoes what came before, but a shared
 * object stays loaded: the libraries of its vendor have threads and handlers of their own. */
#include "worker/runtime/plugin.h"

#include <assert.h>
#include <dlfcn.h>
#include <string.h>

typedef const Plugin *(*PluginEntry)(void);

static const Plugin *opened; /* the plugin of the worker's one accelerator; NULL: there is none */

static Status
load_plugin(Call *call, const char *path, const Plugin **ret_plugin)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        return call_fail(call, STATUS_FAILED_PRECONDITION, "the plugin cannot be loaded: %s", dlerror());
    }
    PluginEntry entry = NULL;
    *(void **)(void *)&entry = dlsym(library, "sluice_plugin"); /* POSIX's cast of an object's address */
    const Plugin *plugin = entry == NULL ? NULL : entry();
    if (plugin == NULL) {
        return call_fail(
            call, STATUS_FAILED_PRECONDITION, "'%s' is no plugin: it has no function sluice_plugin()", path);
    }
    *ret_plugin = plugin;
    return STATUS_OK;
}

/* The version comes first: it decides what the other numbers mean. */
static Status
check_build(Call *call, const char *path, const PluginBuild *build)
{
    static const PluginBuild own = PLUGIN_BUILD;
    const struct {
        const char *what;
        uint32_t theirs;
        uint32_t ours;
    } rows[] = {
        {"version of the interface", build->version, own.version},
        {"size of a Tensor", build->tensor_size, own.tensor_size},
        {"size of a Kernel", build->kernel_size, own.kernel_size},
        {"size of a KernelContext", build->kernel_context_size, own.kernel_context_size},
        {"size of a Device", build->device_size, own.device_size},
    };
    for (size_t row = 0; row < COUNT_OF(rows); row++) {
        if (rows[row].theirs != rows[row].ours) {
            return call_fail(call, STATUS_FAILED_PRECONDITION,
                "the plugin '%s' is of another build: its %s is %u, this worker's is %u; install both from "
                "one build",
                path, rows[row].what, rows[row].theirs, rows[row].ours);
        }
    }
    return STATUS_OK;
}

static Status
open_device(Call *call, const Plugin *plugin, const PluginOptions *options, PluginDevice *ret_device)
{
    PluginDevice made = {0};
    TRY(kernel_register(call, plugin->type, plugin->families, plugin->family_count));
    Status status = plugin->open(call, options, &made);
    if (status != STATUS_OK) {
        kernel_unregister(plugin->type);
        return status;
    }
    assert(made.device != NULL && !device_is_host(made.device));
    assert(strcmp(made.device->type, plugin->type) == 0);
    *ret_device = made;
    return STATUS_OK;
}

Status
plugin_open(Call *call, const char *path, const PluginOptions *options, PluginDevice *ret_device)
{
    assert(opened == NULL && options->host != NULL);
    const Plugin *plugin = NULL;
    TRY(load_plugin(call, path, &plugin));
    TRY(check_build(call, path, &plugin->build));
    TRY(open_device(call, plugin, options, ret_device));
    opened = plugin;
    return STATUS_OK;
}

void
plugin_close(PluginDevice *device)
{
    assert(opened != NULL && device->device != NULL);
    opened->close(device);
    kernel_unregister(opened->type);
    opened = NULL;
    *device = (PluginDevice){0};
}
