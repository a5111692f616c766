#include "gateway/services/settings.h"

#include "gateway/services/gateway.h"

static const SettingDefinition definitions[] = {
    {.name = "listen", .type = SETTING_STRING, .default_value = "127.0.0.1:8470",
        .meaning = "address of the REST API; port 0 lets the kernel choose"},
    {.name = "auth", .type = SETTING_CHOICE, .default_value = "keys", .choices = "keys|off",
        .meaning = "off: everybody is the tenant 'default'; on a loopback address only"},
    {.name = "database", .type = SETTING_STRING, .default_value = "dbname=sluice",
        .meaning = "PostgreSQL, as libpq's keywords or URL; roles are chosen by the gateway"},
    {.name = "workers", .type = SETTING_LIST, .default_value = "",
        .meaning = "addresses of workers, host:port, separated by commas"},
    {.name = "worker-token", .type = SETTING_SECRET, .meaning = "shared secret that workers ask for"},
    {.name = "pepper", .type = SETTING_SECRET, .meaning = "secret that hashes of API keys are made with"},
    {.name = "loops", .type = SETTING_INTEGER, .default_value = "1", .unit = "threads", .minimum = 1,
        .maximum = GATEWAY_LOOP_COUNT_MAX, .meaning = "event loops that serve connections"},
    {.name = "job-threads", .type = SETTING_INTEGER, .default_value = "4", .unit = "threads", .minimum = 1,
        .maximum = 256, .meaning = "threads that wait for the database and compile plans"},
    {.name = "tensor-size-max", .type = SETTING_BYTES, .default_value = "2GiB", .minimum = 1024,
        .maximum = (int64_t)1 << 40, .meaning = "largest tensor that is taken from a worker"},
    {.name = "graph-cache", .type = SETTING_BYTES, .default_value = "1GiB",
        .meaning = "memory for graphs in use, by the size of their sources"},
    {.name = "plan-cache", .type = SETTING_BYTES, .default_value = "256MiB", .meaning = "memory for compiled plans"},
    {.name = "grace", .type = SETTING_DURATION, .default_value = "10s",
        .meaning = "how long requests may go on after SIGTERM"},
};

const ConfigTable gateway_settings = {.definitions = definitions, .count = COUNT_OF(definitions)};
