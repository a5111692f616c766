/* The command `sluice`: a REST client for people and scripts. One run is one command; commands are the files
 * of gateway/cli/commands.
 *
 * Ownership: a Cli borrows its Call; all texts live in the Call's arena.
 * Threads:   one; Ctrl-C cancels the Call from a signal handler.
 * Errors:    the Call's error is printed once, in main.c; exit_code says of which kind it was. */
#pragma once

#include "shared/config/config.h"
#include "shared/httpclient/http_client.h"

/* What scripts rely on. The text is what --help prints. */
#define EXIT_CODES(X)                                                                                        \
    X(DONE, 0, "done")                                                                                       \
    X(REFUSED, 1, "the gateway refused the request")                                                         \
    X(USAGE, 2, "the command line, or a file that it names, is wrong")                                       \
    X(UNREACHABLE, 3, "the gateway cannot be reached")                                                       \
    X(STEP_FAILED, 4, "the step was taken and failed, or was cancelled")                                     \
    X(TIMED_OUT, 5, "the time was up before there was a result")                                             \
    X(INTERRUPTED, 130, "stopped by Ctrl-C")

#define X(name, number, text) EXIT_##name = (number),
typedef enum ExitCode { EXIT_CODES(X) } ExitCode;
#undef X

typedef struct Command Command;

typedef struct Cli {
    Call *call;
    const Config *config;
    const Command *command;
    HttpClient *client;
    ExitCode exit_code; /* of the failure, when it is not REFUSED */
    bool is_json;       /* standard output carries the API's JSON */
} Cli;

/* Runs the command that the arguments name; what main() returns. `input` is what stands behind the program's
 * name. */
ExitCode cli_run(Call *call, const ConfigInput *input);

/* The command's own arguments, from 0; NULL behind the last. */
const char *cli_argument(const Cli *cli, size_t index);

/* Fails with EXIT_USAGE. */
#define cli_usage(cli, ...)                                                                                  \
    cli_fail(cli, EXIT_USAGE, call_fail((cli)->call, STATUS_INVALID_ARGUMENT, __VA_ARGS__))
MUST_USE Status cli_fail(Cli *cli, ExitCode exit_code, Status status);
