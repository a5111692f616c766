#include "shared/program/program.h"

#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/cmocka_all.h"

static const SettingDefinition definitions[] = {
    {.name = "grace", .type = SETTING_DURATION, .default_value = "3s", .meaning = "how long a stop may take"},
};
static const ConfigTable settings = {definitions, COUNT_OF(definitions)};

typedef struct Server {
    sem_t stopped;
    uint32_t grace_ms;
    bool is_stuck; /* is told to stop and does not */
} Server;

static void
run_until_stopped(void *context)
{
    Server *server = context;
    assert_int_equal(kill(getpid(), SIGTERM), 0);
    while (sem_wait(&server->stopped) != 0 || server->is_stuck) {}
}

static void
stop(void *context, uint32_t grace_ms)
{
    Server *server = context;
    server->grace_ms = grace_ms;
    (void)sem_post(&server->stopped);
}

static Server test_server;
static int greeting_count;

static Status
serve(Call *call, const Config *config)
{
    ProgramServer server = {
        .context = &test_server,
        .address = "127.0.0.1:1",
        .grace_ms = (uint32_t)config_integer(config, "grace"),
        .closing_ms = test_server.is_stuck ? 50 : 0,
        .run = run_until_stopped,
        .stop = stop,
    };
    assert_int_equal(sem_init(&test_server.stopped, 0, 0), 0);
    return program_serve(call, &server);
}

static Status
greet(Call *call, const Config *config)
{
    (void)config;
    greeting_count++;
    return greeting_count > 1 ? call_fail(call, STATUS_ABORTED, "greeted already") : STATUS_OK;
}

static int
run_program(const char *argument, const char *value)
{
    static const ProgramCommand commands[] = {{"greet", greet}};
    Program program = {"test-program", &settings, serve, commands, COUNT_OF(commands)};
    char *arguments[] = {
        (char *)(uintptr_t)program.name, (char *)(uintptr_t)argument, (char *)(uintptr_t)value, NULL};
    return program_main(&program, 1 + (argument != NULL) + (value != NULL), arguments);
}

static void
a_signal_stops_the_server_with_its_grace(void **state)
{
    (void)state;
    assert_int_equal(run_program("--grace", "250ms"), EXIT_SUCCESS);
    assert_int_equal(test_server.grace_ms, 250);
}

/* The server runs in a process of its own, which it ends. */
static void
a_server_that_does_not_stop_is_ended_after_its_grace(void **state)
{
    int result = 0;
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        test_server.is_stuck = true;
        _exit(run_program("--grace", "10ms") == EXIT_SUCCESS ? EXIT_SUCCESS : 2);
    }
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_true(WIFEXITED(result));
    assert_int_equal(WEXITSTATUS(result), EXIT_FAILURE);
}

static void
a_command_runs_instead_of_serving_and_its_failure_is_the_programs(void **state)
{
    (void)state;
    greeting_count = 0;
    assert_int_equal(run_program("greet", NULL), EXIT_SUCCESS);
    assert_int_equal(greeting_count, 1);
    assert_int_equal(run_program("greet", NULL), EXIT_FAILURE);
}

static void
what_the_program_does_not_know_is_no_reason_to_start_it_again(void **state)
{
    (void)state;
    assert_int_equal(run_program("dance", NULL), PROGRAM_MISCONFIGURED);
    assert_int_equal(run_program("--grave", "1s"), PROGRAM_MISCONFIGURED);
}

static void
every_program_shows_its_settings_and_help(void **state)
{
    (void)state;
    assert_int_equal(run_program("config", NULL), EXIT_SUCCESS);
    assert_int_equal(run_program("--help", NULL), EXIT_SUCCESS);
    assert_int_equal(run_program("--version", NULL), EXIT_SUCCESS);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_command_runs_instead_of_serving_and_its_failure_is_the_programs),
        cmocka_unit_test(what_the_program_does_not_know_is_no_reason_to_start_it_again),
        cmocka_unit_test(every_program_shows_its_settings_and_help),
        cmocka_unit_test(a_server_that_does_not_stop_is_ended_after_its_grace),
        /* Comes last: the thread that waits for signals stays. */
        cmocka_unit_test(a_signal_stops_the_server_with_its_grace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
