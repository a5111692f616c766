/* The command `sluice` as people and scripts run it: against a whole Sluice, with a folder for files. Every
 * helper fails the test with what the program wrote. */
#pragma once

#include "tests/support/cluster.h"
#include "tests/support/cmocka_all.h"

enum { CLI_OUTPUT_SIZE = 64 * 1024, CLI_PATH_SIZE = 64 };

/* A cluster for all tests of a program, a folder, and what the last run of the command gave. */
typedef struct CliFixture {
    Cluster cluster;
    char url[CLI_PATH_SIZE * 2];
    char folder[CLI_PATH_SIZE];
    char out[CLI_OUTPUT_SIZE];
    char error[CLI_OUTPUT_SIZE];
    Call call;
} CliFixture;

/* cmocka's setup and teardown of a group. */
int cli_setup(void **state);
int cli_teardown(void **state);

/* Runs the command; its exit code. '%' in an argument stands for the folder. */
int cli_run(CliFixture *fixture, const char *const *arguments);
#define CLI_RUN(fixture, ...) cli_run(fixture, (const char *const[]){__VA_ARGS__, NULL})

#define assert_exit(expected, fixture, ...)                                                                  \
    do {                                                                                                     \
        const int code_ = CLI_RUN(fixture, __VA_ARGS__);                                                     \
        if (code_ != (expected)) {                                                                           \
            fail_msg("exit code %d, not %d: %s%s", code_, (expected), (fixture)->out, (fixture)->error);     \
        }                                                                                                    \
    } while (0)

#define assert_holds(text, part)                                                                             \
    do {                                                                                                     \
        if (strstr(text, part) == NULL) {                                                                    \
            fail_msg("'%s' is not in: %s", part, text);                                                      \
        }                                                                                                    \
    } while (0)

void assert_is_json(CliFixture *fixture, const char *text);

/* A file of the folder. */
void cli_write(const CliFixture *fixture, const char *name, Slice content);
size_t cli_read(const CliFixture *fixture, const char *name, char *content, size_t size);

/* STEP_GRAPH_AFFINE (step_graphs.h) as affine.json, pushed to the default session. */
void cli_push_affine(CliFixture *fixture);

/* To all workers. */
void cli_signal_workers(const CliFixture *fixture, int number);

/* The id of the step that the last command printed. */
void cli_take_id(const CliFixture *fixture, char ret_id[CLI_PATH_SIZE]);
