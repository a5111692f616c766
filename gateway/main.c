/* sluice-gateway: wires the parts together, serves until SIGTERM or SIGINT, stops in good order.
 *
 *     sluice-gateway                 serves
 *     sluice-gateway migrate         brings the database's schema up to date
 *     sluice-gateway key create …    makes an API key and shows it once
 *     sluice-gateway config          prints the effective settings and where each comes from */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gateway/services/gateway.h"
#include "gateway/services/key_command.h"
#include "gateway/services/settings.h"
#include "gateway/store/migrate.h"
#include "shared/telemetry/log.h"

enum { ARENA_SIZE_MAX = 16 << 20 };

typedef struct Stopper {
    Gateway *gateway;
    uint32_t grace_ms;
    sigset_t signals;
    pthread_mutex_t lock; /* held while the loops are told */
} Stopper;

static void *
wait_for_signal(void *context)
{
    Stopper *const stopper = context;
    int number = 0;
    (void)sigwait(&stopper->signals, &number);
    (void)pthread_mutex_lock(&stopper->lock);
    gateway_stop(stopper->gateway, stopper->grace_ms);
    (void)pthread_mutex_unlock(&stopper->lock);
    /* A second signal ends at once. */
    (void)sigwait(&stopper->signals, &number);
    _exit(128 + number);
}

static Status
stopper_start(Call *call, Stopper *stopper)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, wait_for_signal, stopper) != 0) {
        return call_fail(call, STATUS_UNAVAILABLE, "no thread could be started");
    }
    (void)pthread_detach(thread);
    return STATUS_OK;
}

static Status
read_limits(Call *call, const Config *config, Limits *ret_limits)
{
    const Slice *settings = NULL;
    const size_t count = config_list(config, "limit", &settings);
    *ret_limits = limits_default();
    for (size_t index = 0; index < count; index++) {
        TRY(limits_read(call, settings[index], ret_limits));
    }
    return STATUS_OK;
}

static Status
serve(Call *call, const Config *config, Stopper *stopper)
{
    char address[ADDRESS_TEXT_SIZE];
    GatewayOptions options = {
        .listen = config_string(config, "listen"),
        .loop_count = (int)config_integer(config, "loops"),
        .job_thread_count = (int)config_integer(config, "job-threads"),
        .conninfo = config_string(config, "database"),
        .pepper = slice_from_string(config_secret(config, "pepper")),
        .is_open = strcmp(config_string(config, "auth"), "off") == 0,
        .worker_token = config_secret(config, "worker-token"),
        .tensor_size_max = (size_t)config_integer(config, "tensor-size-max"),
        .graph_cache_size = (size_t)config_integer(config, "graph-cache"),
        .plan_cache_size = (size_t)config_integer(config, "plan-cache"),
        .record_ring_size = (size_t)config_integer(config, "record-buffer"),
        .queue_slot_count = (size_t)config_integer(config, "queue-slots"),
        .queue_lease_ms = (uint64_t)config_integer(config, "queue-lease"),
        .history_days = (int)config_integer(config, "history-days"),
    };
    options.worker_count = config_list(config, "workers", &options.workers);
    TRY(read_limits(call, config, &options.limits));
    TRY(gateway_open(call, &options, &stopper->gateway));
    stopper->grace_ms = (uint32_t)config_integer(config, "grace");
    TRY(stopper_start(call, stopper));
    gateway_address(stopper->gateway, address);
    (void)printf("listening on %s\n", address);
    (void)fflush(stdout);
    gateway_run(stopper->gateway);
    /* The loops may have ended before the last one's call from the signal's thread has returned. */
    (void)pthread_mutex_lock(&stopper->lock);
    (void)pthread_mutex_unlock(&stopper->lock);
    gateway_close(stopper->gateway);
    return STATUS_OK;
}

static Status
migrate(Call *call, const Config *config)
{
    size_t applied = 0;
    TRY(migrate_apply(call, config_string(config, "database"), &applied));
    (void)printf("%zu of %zu migrations applied\n", applied, migration_table_count);
    return STATUS_OK;
}

static Status
show_config(Call *call, const Config *config)
{
    AUTO_BUFFER text = {0};
    config_write(config, &text);
    (void)call;
    (void)fwrite(text.data, 1, text.size, stdout);
    return STATUS_OK;
}

typedef struct Command {
    const char *name;
    Status (*run)(Call *call, const Config *config);
} Command;

static const Command commands[] = {
    {"migrate", migrate},
    {"key", key_command},
    {"config", show_config},
};

static Status
run_command(Call *call, const Config *config, const char *name)
{
    for (size_t index = 0; index < COUNT_OF(commands); index++) {
        if (strcmp(commands[index].name, name) == 0) {
            return commands[index].run(call, config);
        }
    }
    return call_fail(call, STATUS_INVALID_ARGUMENT,
        "'%s' is no command: there are 'migrate', 'key' and 'config', or none to serve", name);
}

static Status
run(Call *call, int argc, char **argv, Stopper *stopper)
{
    Config *config = NULL;
    const ConfigInput input = {
        .arguments = (const char *const *)argv + 1,
        .argument_count = (size_t)argc - 1,
        .environment = (const char *const *)environ,
    };
    TRY(config_load(call, &gateway_settings, &input, &config));
    if (config_wants_help(config)) {
        AUTO_BUFFER text = {0};
        config_write_help(&gateway_settings, &text);
        (void)fwrite(text.data, 1, text.size, stdout);
        return STATUS_OK;
    }
    const char *const name = config_word(config, 0);
    return name == NULL ? serve(call, config, stopper) : run_command(call, config, name);
}

int
main(int argc, char **argv)
{
    static Stopper stopper = {
        .lock = PTHREAD_MUTEX_INITIALIZER}; /* outlives main's frame: the signal thread uses it */
    AUTO_ARENA arena = arena_new(ARENA_SIZE_MAX);
    Call call = {.arena = arena};
    log_init("sluice-gateway", LOG_INFO, STDERR_FILENO);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)sigemptyset(&stopper.signals);
    (void)sigaddset(&stopper.signals, SIGTERM);
    (void)sigaddset(&stopper.signals, SIGINT);
    (void)pthread_sigmask(SIG_BLOCK, &stopper.signals, NULL);
    if (arena == NULL || run(&call, argc, argv, &stopper) != STATUS_OK) {
        (void)fprintf(stderr, "sluice-gateway: %s\n", call.error.message);
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
