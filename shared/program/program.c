#include "shared/program/program.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "shared/base/clock.h"
#include "shared/base/mutex.h"
#include "shared/program/supervisor.h"
#include "shared/telemetry/log.h"

enum { ARENA_SIZE_MAX = 16 << 20 };

/* The state of the thread that waits for signals. It outlives every frame: that thread ends with the
 * process. */
typedef struct Stopper {
    ProgramServer server;
    sigset_t signals;
    Mutex lock; /* held while the server is told */
} Stopper;

static Stopper stopper = {.lock = MUTEX_INITIALIZER};

static void
block_signals(void)
{
    (void)signal(SIGPIPE, SIG_IGN);
    (void)sigemptyset(&stopper.signals);
    (void)sigaddset(&stopper.signals, SIGTERM);
    (void)sigaddset(&stopper.signals, SIGINT);
    (void)pthread_sigmask(SIG_BLOCK, &stopper.signals, NULL);
}

/* Returns the next signal, or 0 when none comes in this time. */
static int
wait_for_signal(uint64_t time_ms)
{
    uint64_t limit_ns = clock_monotonic_ns() + time_ms * CLOCK_NS_PER_MS;
    int number = -1;
    do {
        uint64_t now_ns = clock_monotonic_ns();
        uint64_t left_ns = limit_ns > now_ns ? limit_ns - now_ns : 0;
        struct timespec left = {
            .tv_sec = (time_t)(left_ns / CLOCK_NS_PER_S), .tv_nsec = (long)(left_ns % CLOCK_NS_PER_S)};
        number = sigtimedwait(&stopper.signals, NULL, &left);
    } while (number < 0 && errno == EINTR); /* a debugger interrupts the wait */
    return number < 0 ? 0 : number;
}

bool
program_pause(uint64_t time_ms)
{
    return wait_for_signal(time_ms) == 0;
}

static void
end_if_signalled(int second_signal)
{
    if (second_signal != 0) {
        _exit(128 + second_signal);
    }
}

static void
announce_end(const ProgramServer *server)
{
    if (server->announce != NULL && server->announce_ms > 0) {
        server->announce(server->context);
        end_if_signalled(wait_for_signal(server->announce_ms));
    }
}

static void *
wait_for_signals(void *context)
{
    const ProgramServer *server = &stopper.server;
    uint32_t closing_ms = server->closing_ms == 0 ? PROGRAM_CLOSING_MS : server->closing_ms;
    int number = 0;
    (void)context;
    (void)sigwait(&stopper.signals, &number);
    supervisor_tell_stopping();
    if (number == SIGTERM) {
        announce_end(server);
    }
    mutex_lock(&stopper.lock);
    server->stop(server->context, server->grace_ms);
    mutex_unlock(&stopper.lock);
    end_if_signalled(wait_for_signal(server->grace_ms + (uint64_t)closing_ms));
    log_event(LOG_ERROR, "ended before all had closed", log_integer("grace_ms", server->grace_ms));
    _exit(EXIT_FAILURE);
}

Status
program_serve(Call *call, const ProgramServer *server)
{
    assert(server->run != NULL && server->stop != NULL);

    pthread_t thread;
    stopper.server = *server;
    if (pthread_create(&thread, NULL, wait_for_signals, NULL) != 0) {
        return call_fail(call, STATUS_UNAVAILABLE, "no thread could be started");
    }
    (void)pthread_detach(thread);
    (void)printf("listening on %s\n", server->address);
    (void)fflush(stdout);
    supervisor_tell_ready(server->address);
    server->run(server->context);
    /* Waits for stop(), which may return after run(). */
    mutex_lock(&stopper.lock);
    mutex_unlock(&stopper.lock);
    if (server->fault != NULL && server->fault(server->context) != NULL) {
        _exit(PROGRAM_RESTART); /* handlers of a broken device's libraries might wait for ever */
    }
    return STATUS_OK;
}

static Status
print_text(const Buffer *text)
{
    (void)fwrite(text->data, 1, text->size, stdout);
    return STATUS_OK;
}

static Status
show_help(const Program *program)
{
    AUTO_BUFFER text = {0};
    config_write_help(program->settings, &text);
    return print_text(&text);
}

static Status
show_config(const Config *config)
{
    AUTO_BUFFER text = {0};
    config_write(config, &text);
    return print_text(&text);
}

static Status
fail_unknown(Call *call, const Program *program, const char *name)
{
    AUTO_BUFFER known = {0};
    for (size_t index = 0; index < program->command_count; index++) {
        buffer_append_format(&known, "'%s', ", program->commands[index].name);
    }
    buffer_append_string(&known, "'config'");
    return call_fail(call, STATUS_INVALID_ARGUMENT,
        "'%s' is no command; without one the program serves, and there are: %.*s", name,
        SLICE_PRINT(buffer_slice(&known)));
}

static Status
run_command(Call *call, const Program *program, const Config *config, const char *name)
{
    for (size_t index = 0; index < program->command_count; index++) {
        if (strcmp(program->commands[index].name, name) == 0) {
            return program->commands[index].run(call, config);
        }
    }
    return strcmp(name, "config") == 0 ? show_config(config) : fail_unknown(call, program, name);
}

static Status
run_program(Call *call, const Program *program, int argc, char **argv)
{
    Config *config = NULL;
    ConfigInput input = {
        .arguments = (const char *const *)argv + 1,
        .argument_count = (size_t)argc - 1,
        .environment = (const char *const *)environ,
    };
    TRY(config_load(call, program->settings, &input, &config));
    if (config_wants_help(config)) {
        return show_help(program);
    }
    if (config_wants_version(config)) {
        (void)printf("%s %s\n", program->name, config_version);
        return STATUS_OK;
    }
    const char *name = config_word(config, 0);
    return name == NULL ? program->serve(call, config) : run_command(call, program, config, name);
}

int
program_main(const Program *program, int argc, char **argv)
{
    assert(program->settings != NULL && program->serve != NULL);
    assert(argc > 0);

    AUTO_ARENA arena = arena_new(ARENA_SIZE_MAX);
    Call call = {.arena = arena};
    log_init(program->name, LOG_INFO, STDERR_FILENO);
    block_signals();
    Status status = arena == NULL ? STATUS_RESOURCE_EXHAUSTED : run_program(&call, program, argc, argv);
    if (status == STATUS_OK) {
        return EXIT_SUCCESS;
    }
    (void)fprintf(stderr, "%s: %s\n", program->name, call.error.message);
    return status == STATUS_INVALID_ARGUMENT ? PROGRAM_MISCONFIGURED : EXIT_FAILURE;
}
