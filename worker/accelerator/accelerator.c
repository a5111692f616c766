/* Happy path: the driver serves → the plugin of the program is loaded → it opens the device. The first
 * that is not so is the reason why there is no accelerator. */
#include "worker/accelerator/accelerator.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/base/text.h"
#include "shared/telemetry/log.h"
#include "worker/accelerator/cuda_driver.h"

/* Where the plugin is looked for, from the program's folder: where it is built, and where it is installed. */
static const char *const plugin_paths[] = {"sluice-cuda.so", "../lib/sluice/sluice-cuda.so"};

/* Reads a setting like "8GiB" or "80%": one of the results is 0. */
static Status
read_memory(Call *call, const Config *config, const char *name, uint64_t *ret_bytes, int *ret_percent)
{
    SettingDefinition percent = {.name = name, .type = SETTING_INTEGER, .minimum = 1, .maximum = 100};
    SettingDefinition bytes = {.name = name, .type = SETTING_BYTES, .minimum = 1 << 20, .maximum = INT64_MAX};
    const char *text = config_string(config, name);
    Slice share = slice_from_string(text);
    bool is_share = slice_ends_with(share, SLICE("%"));
    char number[32];
    (void)snprintf(number, sizeof number, "%.*s", (int)share.size - is_share, text);
    Setting setting = {0};
    if (setting_parse(call, is_share ? &percent : &bytes, number, &setting) != STATUS_OK) {
        return call_wrap(call, "%s is '%s', which is neither bytes nor a share as 90%%", name, text);
    }
    *ret_bytes = is_share ? 0 : (uint64_t)setting.integer;
    *ret_percent = is_share ? (int)setting.integer : 0;
    return STATUS_OK;
}

/* Returns the folders with ':' between. */
static Status
read_folders(Call *call, const Config *config, const char **ret_folders)
{
    AUTO_BUFFER text = {0};
    const Slice *folders = NULL;
    size_t count = config_list(config, "cuda-libraries", &folders);
    for (size_t index = 0; index < count; index++) {
        buffer_append_format(&text, "%s%.*s", index == 0 ? "" : ":", SLICE_PRINT(folders[index]));
    }
    *ret_folders = text_copy(call->arena, buffer_slice(&text));
    return *ret_folders == NULL ? call_fail_memory(call, "the folders of libraries") : STATUS_OK;
}

Status
accelerator_read(Call *call, const Config *config, AcceleratorOptions *ret_options)
{
    const char *wanted = config_string(config, "cuda");
    const char *device = config_string(config, "cuda-device");
    AcceleratorOptions options = {
        .is_wanted = strcmp(wanted, "off") != 0,
        .is_required = strcmp(wanted, "required") == 0,
        .path = config_string(config, "cuda-plugin"),
        .plugin.device = device == NULL ? "" : device,
        .plugin.pinned_memory = (uint64_t)config_integer(config, "cuda-pinned"),
        .plugin.allows_tf32 = config_boolean(config, "cuda-tf32"),
        .plugin.fuses = config_boolean(config, "cuda-fusion"),
        .plugin.code_folder = config_string(config, "cuda-cache"),
    };
    PluginOptions *plugin = &options.plugin;
    TRY(read_memory(call, config, "cuda-memory", &plugin->memory, &plugin->memory_percent));
    TRY(read_memory(call, config, "cuda-tenant-memory", &plugin->tenant_memory, &plugin->tenant_percent));
    TRY(read_folders(call, config, &options.plugin.libraries));
    if (options.is_wanted) {
        TRY(cuda_driver_choose(call, &options.plugin.device));
    }
    *ret_options = options;
    return STATUS_OK;
}

static Status
find_plugin(Call *call, const char **ret_path)
{
    char program[PATH_MAX];
    ssize_t size = readlink("/proc/self/exe", program, sizeof program);
    const char *slash = size <= 0 ? NULL : memrchr(program, '/', (size_t)size);
    if (slash == NULL) {
        return call_fail(call, STATUS_UNAVAILABLE, "the program's folder cannot be told, set cuda-plugin");
    }
    for (size_t index = 0; index < COUNT_OF(plugin_paths); index++) {
        *ret_path = text_format(call->arena, "%.*s/%s", (int)(slash - program), program, plugin_paths[index]);
        if (*ret_path == NULL) {
            return call_fail_memory(call, "the path of the plugin");
        }
        if (access(*ret_path, F_OK) == 0) {
            return STATUS_OK;
        }
    }
    return call_fail(call, STATUS_FAILED_PRECONDITION, "built without CUDA: there is no '%.*s/%s'",
        (int)(slash - program), program, plugin_paths[0]);
}

static Status
open_device(Call *call, const AcceleratorOptions *options, Device *host, PluginDevice *ret_opened)
{
    const char *path = options->path;
    PluginOptions plugin = options->plugin;
    plugin.host = host;
    TRY(cuda_driver_check(call));
    if (path == NULL) {
        TRY(find_plugin(call, &path));
    }
    return plugin_open(call, path, &plugin, ret_opened);
}

static void
log_device(const PluginDevice *opened)
{
    DeviceMemory memory = {0};
    opened->device->memory(opened->device, &memory);
    log_event(LOG_INFO, "accelerator opened", log_text("type", opened->device->type),
        log_text("card", opened->card), log_text("driver", opened->driver),
        log_text("isa", opened->device->isa), log_integer("memory_limit", (int64_t)memory.limit));
    for (size_t index = 0; index < opened->library_count; index++) {
        const PluginLibrary *library = &opened->libraries[index];
        log_event(library->reason == NULL ? LOG_INFO : LOG_WARNING, "library of the accelerator",
            log_text("library", library->name),
            log_text("version", library->version == NULL ? "" : library->version),
            log_text("unused_because", library->reason == NULL ? "" : library->reason));
    }
}

/* Says which variables of the environment NVIDIA's libraries heed behind the worker's back. */
static void
log_overrides(void)
{
    static const struct {
        const char *name;
        const char *effect;
    } overrides[] = {
        {"NVIDIA_TF32_OVERRIDE", "0: no session gets TF32; other values may have float32 rounded unasked"},
        {"CUBLAS_WORKSPACE_CONFIG", "cuBLAS may choose other algorithms, whose sums have other bits"},
    };
    for (size_t index = 0; index < COUNT_OF(overrides); index++) {
        const char *value = getenv(overrides[index].name);
        if (value != NULL) {
            log_event(LOG_WARNING, "the environment changes how the accelerator computes",
                log_text("variable", overrides[index].name), log_text("value", value),
                log_text("effect", overrides[index].effect));
        }
    }
}

/* Ends a worker that must have an accelerator. No other start mends what the machine or the build lacks: then
 * it is the setting that is wrong. A driver that does not serve yet may serve the next start. */
static Status
fail_required(Call *call)
{
    if (call->error.code == STATUS_FAILED_PRECONDITION) {
        call->error.code = STATUS_INVALID_ARGUMENT;
    }
    return call_wrap(call, "cuda=required");
}

Status
accelerator_open(Call *call, const AcceleratorOptions *options, Device *host, Accelerator *ret_accelerator)
{
    *ret_accelerator = (Accelerator){0};
    if (!options->is_wanted) {
        (void)snprintf(ret_accelerator->reason, ERROR_MESSAGE_SIZE, "switched off: cuda=off");
        return STATUS_OK;
    }
    if (open_device(call, options, host, &ret_accelerator->opened) == STATUS_OK) {
        log_device(&ret_accelerator->opened);
        log_overrides();
        return STATUS_OK;
    }
    if (options->is_required) {
        return fail_required(call);
    }
    (void)snprintf(ret_accelerator->reason, ERROR_MESSAGE_SIZE, "%s", call->error.message);
    log_event(LOG_INFO, "no accelerator: steps run on the CPU", log_text("reason", ret_accelerator->reason));
    return STATUS_OK;
}

void
accelerator_close(Accelerator *accelerator)
{
    if (accelerator->opened.device != NULL) {
        plugin_close(&accelerator->opened);
    }
}
