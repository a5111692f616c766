#include "gateway/app/quota_command.h"

#include <stddef.h>
#include <stdio.h>

#include "gateway/app/tenant_find.h"

enum { WORD_TENANT = 1, WORD_SETTINGS };

static const struct {
    const char *name;
    size_t offset; /* of its int64_t in Quota */
} counts[] = {
    {"sessions_max", offsetof(Quota, sessions_max)},
    {"graphs_max", offsetof(Quota, graphs_max)},
    {"queued_steps_max", offsetof(Quota, queued_steps_max)},
    {"running_steps_max", offsetof(Quota, running_steps_max)},
    {"stored_bytes_max", offsetof(Quota, stored_bytes_max)},
    {"requests_per_second", offsetof(Quota, requests_per_second)},
};

static int64_t *
count_of(Quota *quota, size_t index)
{
    return (int64_t *)(void *)((char *)quota + counts[index].offset);
}

/* The weight is a whole number here: shares are ratios. */
static Status
set(Call *call, Slice setting, Quota *quota)
{
    const size_t equals = slice_find(setting, '=');
    const Slice name = slice_part(setting, 0, equals);
    uint64_t value = 0;
    if (!slice_to_uint64(slice_part(setting, equals + 1, setting.size), &value) || value == 0 ||
        value > INT64_MAX) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "'%.*s' is not NAME=VALUE with a number above 0",
            SLICE_PRINT(setting));
    }
    if (slice_equals_string(name, "weight")) {
        quota->weight = (double)value;
        return STATUS_OK;
    }
    for (size_t index = 0; index < COUNT_OF(counts); index++) {
        if (slice_equals_string(name, counts[index].name)) {
            *count_of(quota, index) = (int64_t)value;
            return STATUS_OK;
        }
    }
    return call_fail(call, STATUS_INVALID_ARGUMENT, "'%.*s' is no quota", SLICE_PRINT(name));
}

static void
show(Quota *quota)
{
    (void)printf("weight=%g\n", quota->weight);
    for (size_t index = 0; index < COUNT_OF(counts); index++) {
        (void)printf("%s=%lld\n", counts[index].name, (long long)*count_of(quota, index));
    }
}

Status
quota_command(Call *call, const Config *config)
{
    const char *const word = config_word(config, WORD_TENANT);
    const char *const name = word == NULL ? "default" : word;
    const char *const conninfo = config_string(config, "database");
    const StoreOptions options = {.conninfo = conninfo, .role = STORE_ROLE_APP};
    AUTO_STORE store = NULL;
    TenantId tenant;
    Quota quota;
    TRY(tenant_find(call, conninfo, name, &tenant));
    TRY(store_open(call, &options, &store));
    TRY(quotas_find(call, store, tenant, &quota));
    size_t index = WORD_SETTINGS;
    for (; word != NULL && config_word(config, index) != NULL; index++) {
        TRY(set(call, slice_from_string(config_word(config, index)), &quota));
    }
    if (index > WORD_SETTINGS) {
        TRY(quotas_update(call, store, tenant, &quota));
    }
    show(&quota);
    return STATUS_OK;
}
