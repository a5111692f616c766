/* sluice-gateway: wires the parts together and serves.
 *
 *     sluice-gateway                 serves
 *     sluice-gateway migrate         brings the database's schema up to date
 *     sluice-gateway key …           makes, lists and revokes API keys
 *     sluice-gateway quota …         shows and sets what a tenant may use
 *     sluice-gateway config          prints the effective settings and where each comes from */
#include <stdio.h>
#include <string.h>

#include "gateway/app/commands.h"
#include "gateway/app/gateway.h"
#include "gateway/app/settings.h"
#include "gateway/http/cors.h"
#include "gateway/store/migrate.h"
#include "shared/base/clock.h"
#include "shared/base/memory.h"
#include "shared/base/spare_memory.h"
#include "shared/program/program.h"
#include "shared/program/supervisor.h"
#include "shared/telemetry/log.h"

static void
run(void *gateway)
{
    gateway_run(gateway);
}

static void
announce(void *gateway)
{
    gateway_leave(gateway);
}

static void
stop(void *gateway, uint32_t grace_ms)
{
    gateway_stop(gateway, grace_ms);
}

static Status
read_limits(Call *call, const Config *config, Limits *ret_limits)
{
    const Slice *settings = NULL;
    size_t count = config_list(config, "limit", &settings);
    *ret_limits = limits_default();
    for (size_t index = 0; index < count; index++) {
        TRY(limits_read(call, settings[index], ret_limits));
    }
    return STATUS_OK;
}

static const char *
describe_absence(StorePresence presence)
{
    return presence == STORE_STARTS ? "waiting for PostgreSQL, which lets nobody in yet"
                                    : "waiting for PostgreSQL, which does not answer";
}

/* Waits while PostgreSQL lets nobody in, as when it recovers from a crash, and says so now and then. Not
 * there in the end: a signal asks for the end. */
static Status
await_database(Call *call, const char *conninfo, bool *ret_is_there)
{
    enum { PAUSE_MS = 500, SILENT_MS = 10000 };
    uint64_t say_ns = 0;
    for (;;) {
        StorePresence presence = store_ping(conninfo);
        uint64_t now_ns = clock_monotonic_ns();
        if (presence == STORE_IS_NOT_NAMED) {
            return store_fail_unnamed(call, conninfo);
        }
        if (presence == STORE_SERVES) {
            break;
        }
        if (now_ns >= say_ns) {
            supervisor_tell_waiting(describe_absence(presence));
            log_event(LOG_WARNING, describe_absence(presence));
            say_ns = now_ns + SILENT_MS * CLOCK_NS_PER_MS;
        }
        if (!program_pause(PAUSE_MS)) {
            log_event(LOG_INFO, "ended while it waited for PostgreSQL");
            *ret_is_there = false;
            return STATUS_OK;
        }
    }
    if (say_ns != 0) {
        log_event(LOG_INFO, "PostgreSQL is there");
    }
    *ret_is_there = true;
    return STATUS_OK;
}

static Status
read_origins(Call *call, const Config *config, Origins *ret_origins)
{
    Origins origins = {0};
    origins.count = config_list(config, "cors-origins", &origins.items);
    for (size_t index = 0; index < origins.count; index++) {
        TRY(cors_check_origin(call, origins.items[index]));
    }
    *ret_origins = origins;
    return STATUS_OK;
}

static Status
serve(Call *call, const Config *config)
{
    char address[ADDRESS_TEXT_SIZE];
    Gateway *gateway = NULL;
    bool is_there = false;
    GatewayOptions options = {
        .listen = config_string(config, "listen"),
        .loop_count = (int)config_integer(config, "loops"),
        .job_thread_count = (int)config_integer(config, "job-threads"),
        .conninfo = config_string(config, "database"),
        .pepper = slice_from_string(config_secret(config, "pepper")),
        .is_open = strcmp(config_string(config, "auth"), "off") == 0,
        .outlasts_outage = strcmp(config_string(config, "database-outage"), "ready") == 0,
        .workers_wanted = (size_t)config_integer(config, "workers-wanted"),
        .kubernetes = {.api = config_string(config, "kubernetes-api"),
            .account = config_string(config, "kubernetes-account")},
        .worker_lease_ms = (uint64_t)config_integer(config, "worker-lease"),
        .worker_token = config_secret(config, "worker-token"),
        .tensor_size_max = (size_t)config_integer(config, "tensor-size-max"),
        .graph_cache_size = (size_t)config_integer(config, "graph-cache"),
        .resident_weights = (uint64_t)config_integer(config, "resident-weights"),
        .plan_cache_size = (size_t)config_integer(config, "plan-cache"),
        .trace_cache_size = (size_t)config_integer(config, "trace-cache"),
        .output_memory_size = (size_t)config_integer(config, "output-memory"),
        .body_memory_size = (size_t)config_integer(config, "body-memory"),
        .record_ring_size = (size_t)config_integer(config, "record-buffer"),
        .queue_slot_count = (size_t)config_integer(config, "queue-slots"),
        .queue_lease_ms = (uint64_t)config_integer(config, "queue-lease"),
        .history_days = (int)config_integer(config, "history-days"),
        .event_age_ms = (uint64_t)config_integer(config, "event-age"),
        .blob_store = config_string(config, "blob-store"),
        .s3 = {.endpoint = config_string(config, "s3-endpoint"),
            .region = config_string(config, "s3-region"),
            .key_id = config_string(config, "s3-key-id"),
            .secret = config_secret(config, "s3-secret")},
        .blob_inline_size = (uint64_t)config_integer(config, "blob-inline"),
        .blob_age_ms = (uint64_t)config_integer(config, "blob-age"),
    };
    options.worker_count = config_list(config, "workers", &options.workers);
    TRY(read_limits(call, config, &options.limits));
    TRY(read_origins(call, config, &options.origins));
    TRY(wire_versions_choose(
        call, slice_from_string(config_string(config, "protocols")), &options.protocols));
    TRY(await_database(call, options.conninfo, &is_there));
    if (!is_there) {
        return STATUS_OK;
    }
    TRY(gateway_open(call, &options, &gateway));
    gateway_address(gateway, address);
    ProgramServer server = {
        .context = gateway,
        .address = address,
        .announce_ms = (uint32_t)config_integer(config, "drain-delay"),
        .announce = announce,
        .grace_ms = (uint32_t)config_integer(config, "grace"),
        .run = run,
        .stop = stop,
    };
    Status status = program_serve(call, &server);
    gateway_close(gateway);
    return status;
}

static Status
migrate(Call *call, const Config *config)
{
    size_t applied = 0;
    TRY(migrate_apply(call, config_string(config, "database"), &applied));
    (void)printf("%zu of %zu migrations applied\n", applied, migration_table_count);
    return STATUS_OK;
}

int
main(int argc, char **argv)
{
    enum { SPARE_SIZE_MAX = 16 << 20 }; /* bytes: some feeds of less than PASSED_SIZE_MIN */
    static const ProgramCommand commands[] = {
        {"migrate", migrate},
        {"key", key_command},
        {"quota", quota_command},
    };
    static const Program program = {
        .name = "sluice-gateway",
        .settings = &gateway_settings,
        .serve = serve,
        .commands = commands,
        .command_count = COUNT_OF(commands),
    };
    memory_give_back_large();
    spare_memory_keep(SPARE_SIZE_MAX);
    return program_main(&program, argc, argv);
}
