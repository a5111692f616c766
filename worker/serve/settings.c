#include "worker/serve/settings.h"

#include "worker/serve/worker.h"

static const SettingDefinition definitions[] = {
    {.name = "listen",
        .type = SETTING_STRING,
        .default_value = "127.0.0.1:8471",
        .meaning = "address that gateways and other workers connect to; port 0 lets the kernel choose"},
    {.name = "name",
        .type = SETTING_STRING,
        .meaning = "name of this worker, unique in its pool and kept over restarts; default: its address"},
    {.name = "token",
        .type = SETTING_SECRET,
        .meaning = "shared secret that gateways and workers show each other"},
    {.name = "loops",
        .type = SETTING_INTEGER,
        .default_value = "1",
        .unit = "threads",
        .minimum = 1,
        .maximum = WORKER_LOOP_COUNT_MAX,
        .meaning = "event loops that serve connections"},
    {.name = "threads",
        .type = SETTING_INTEGER,
        .default_value = "0",
        .unit = "threads",
        .maximum = 1024,
        .meaning = "threads that run kernels; 0: one a core"},
    {.name = "memory",
        .type = SETTING_BYTES,
        .default_value = "0",
        .meaning = "memory for tensors; 0: three quarters of the machine's, or of the container's limit"},
    {.name = "step-memory",
        .type = SETTING_BYTES,
        .default_value = "0",
        .meaning =
            "tensors that one step may hold at once; a step that is planned to take more is refused; 0: no "
            "limit"},
    {.name = "tensor-size-max",
        .type = SETTING_BYTES,
        .default_value = "2GiB",
        .minimum = 1024,
        .maximum = (int64_t)1 << 40,
        .meaning = "largest tensor that is taken from a connection"},
    {.name = "partition-cache",
        .type = SETTING_BYTES,
        .default_value = "256MiB",
        .meaning = "memory for registered partitions; the least used are forgotten first"},
    {.name = "blob-cache",
        .type = SETTING_BYTES,
        .default_value = "0",
        .meaning = "memory for large constants; those that no partition uses are forgotten first; 0: three "
                   "quarters of `memory`"},
    {.name = "blob-folder",
        .type = SETTING_STRING,
        .meaning =
            "folder for large constants, which the workers of a host may share and which outlives them; "
            "default: they are in memory only"},
    {.name = "blob-folder-size",
        .type = SETTING_BYTES,
        .default_value = "0",
        .meaning = "size of the blob folder; the least used files are removed first; 0: half of its disk"},
    {.name = "grace",
        .type = SETTING_DURATION,
        .default_value = "10s",
        .meaning = "how long running steps may go on after SIGTERM"},
};

const ConfigTable worker_settings = {.definitions = definitions, .count = COUNT_OF(definitions)};
