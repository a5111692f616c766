/* sluice-worker: wires the parts together, serves until SIGTERM or SIGINT, stops in good order. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/base/memory.h"
#include "worker/cpu/device.h"
#include "worker/serve/settings.h"
#include "worker/serve/worker.h"

enum { ARENA_SIZE_MAX = 16 << 20 };

typedef struct Stopper {
    Worker *worker;
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
    worker_stop(stopper->worker, stopper->grace_ms);
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
serve(Call *call, const Config *config, Stopper *stopper)
{
    Device *device = NULL;
    const CpuDeviceOptions cpu = {
        .thread_count = (int)config_integer(config, "threads"),
        .memory_limit = (uint64_t)config_integer(config, "memory"),
    };
    const WorkerOptions options = {
        .listen = config_string(config, "listen"),
        .name = config_string(config, "name"),
        .token = config_secret(config, "token"),
        .loop_count = (int)config_integer(config, "loops"),
        .tensor_size_max = (size_t)config_integer(config, "tensor-size-max"),
        .partition_cache_size = (size_t)config_integer(config, "partition-cache"),
        .blob_cache_size = (size_t)config_integer(config, "blob-cache"),
    };
    TRY(cpu_device_new(call, &cpu, &device));
    const Status status = worker_open(call, &options, device, &stopper->worker);
    if (status != STATUS_OK) {
        cpu_device_free(device);
        return status;
    }
    stopper->grace_ms = (uint32_t)config_integer(config, "grace");
    TRY(stopper_start(call, stopper));
    (void)printf("listening on %s\n", stopper->worker->address);
    (void)fflush(stdout);
    worker_run(stopper->worker);
    /* The loops may have ended before the last one's call from the signal's thread has returned. */
    (void)pthread_mutex_lock(&stopper->lock);
    (void)pthread_mutex_unlock(&stopper->lock);
    worker_close(stopper->worker);
    cpu_device_free(device);
    return STATUS_OK;
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
    TRY(config_load(call, &worker_settings, &input, &config));
    const char *const word = config_word(config, 0);
    AUTO_BUFFER text = {0};
    if (config_wants_help(config)) {
        config_write_help(&worker_settings, &text);
    } else if (word != NULL && strcmp(word, "config") == 0) {
        config_write(config, &text);
    } else if (word != NULL) {
        return call_fail(
            call, STATUS_INVALID_ARGUMENT, "'%s' is no command: there is 'config', or none to serve", word);
    } else {
        return serve(call, config, stopper);
    }
    (void)fwrite(text.data, 1, text.size, stdout);
    return STATUS_OK;
}

int
main(int argc, char **argv)
{
    static Stopper stopper = {
        .lock = PTHREAD_MUTEX_INITIALIZER}; /* outlives main's frame: the signal thread uses it */
    AUTO_ARENA arena = arena_new(ARENA_SIZE_MAX);
    Call call = {.arena = arena};
    (void)signal(SIGPIPE, SIG_IGN);
    (void)sigemptyset(&stopper.signals);
    (void)sigaddset(&stopper.signals, SIGTERM);
    (void)sigaddset(&stopper.signals, SIGINT);
    (void)pthread_sigmask(SIG_BLOCK, &stopper.signals, NULL);
    if (arena == NULL || run(&call, argc, argv, &stopper) != STATUS_OK) {
        (void)fprintf(stderr, "sluice-worker: %s\n", call.error.message);
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
