/* The program sluice: runs one command and returns its exit code. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "gateway/cli/cli.h"

enum { ARENA_SIZE_MAX = 256 << 20 };

static Call program_call;

/* Cancels the command; a second Ctrl-C ends the program at once. */
static void
on_interrupt(int number)
{
    call_cancel(&program_call); /* a single atomic store */ // NOLINT(bugprone-signal-handler)
    (void)signal(number, SIG_DFL);
}

int
main(int argc, char **argv)
{
    AUTO_ARENA arena = arena_new(ARENA_SIZE_MAX);
    ConfigInput input = {
        .arguments = (const char *const *)argv + 1,
        .argument_count = (size_t)argc - 1,
        .environment = (const char *const *)environ,
    };
    if (arena == NULL) {
        (void)fputs("sluice: no memory left\n", stderr);
        return EXIT_REFUSED;
    }
    program_call.arena = arena;
    (void)signal(SIGINT, on_interrupt);
    (void)signal(SIGTERM, on_interrupt);
    return (int)cli_run(&program_call, &input);
}
