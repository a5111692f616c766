/* A command of `sluice`: its row in the table, the function that does it, and what that works with. A file of
 * gateway/cli/commands defines one, and the build collects the directory into command_table.
 *
 * Ownership: a Cli borrows its Call; all texts live in the Call's arena.
 * Threads:   one.
 * Errors:    a command returns the Call's error; cli_fail() sets the exit code when it is not
 * EXIT_REFUSED. */
#pragma once

#include <stddef.h>

#include "shared/config/config.h"
#include "shared/httpclient/http_client.h"

/* The exit codes, which scripts rely on; --help prints the texts. */
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
    ExitCode exit_code; /* of a failure, when it is not EXIT_REFUSED */
    bool is_json;       /* standard output carries the API's JSON */
    Slice problem;      /* the document of the last request that was refused; "": it was not */
} Cli;

struct Command {
    const char *name;            /* one or two words: "graph push" */
    const char *arguments;       /* as help shows them: "FILE"; "" for none */
    const char *summary;         /* one line */
    const char *details;         /* whole lines; NULL: nothing to add */
    const char *const *settings; /* those that it takes beside the global ones, NULL-terminated; NULL: none */
    size_t argument_min;
    size_t argument_max;
    MUST_USE Status (*run)(Cli *cli);
};

#define COMMAND(symbol)                                                                                      \
    extern const Command command_##symbol;                                                                   \
    const Command command_##symbol

extern const Command *const command_table[];
extern const size_t command_table_count;

/* Returns the command whose words these arguments begin with, or NULL. */
const Command *command_find(const Config *config, size_t first_word);
size_t command_word_count(const Command *command);

/* Returns an argument of the command's own, from 0; NULL behind the last. */
const char *cli_argument(const Cli *cli, size_t index);

/* Fails with EXIT_USAGE and a message. */
#define cli_usage(cli, ...)                                                                                  \
    cli_fail(cli, EXIT_USAGE, call_fail((cli)->call, STATUS_INVALID_ARGUMENT, __VA_ARGS__))
MUST_USE Status cli_fail(Cli *cli, ExitCode exit_code, Status status);
