/* The command `sluice` as people and scripts run it: against a whole Sluice, with a folder for files.
 * Every helper fails the test and prints the program's output. */
#pragma once

#include "tests/support/cluster.h"
#include "tests/support/cmocka_all.h"

enum { SLUICE_OUTPUT_SIZE = 64 * 1024, SLUICE_PATH_SIZE = 64 };

/* A cluster for all tests of a program, a folder, and the output of the command's last run. */
typedef struct SluiceFixture {
    Cluster cluster;
    char url[SLUICE_PATH_SIZE * 2];
    char folder[SLUICE_PATH_SIZE];
    char out[SLUICE_OUTPUT_SIZE];
    char error[SLUICE_OUTPUT_SIZE];
    Call call;
} SluiceFixture;

/* Set up and tear down a group of tests for cmocka. */
int sluice_setup(void **state);
int sluice_teardown(void **state);

/* Runs the command and returns its exit code. '%' in an argument stands for the folder. */
int sluice_run(SluiceFixture *fixture, const char *const *arguments);
#define SLUICE_RUN(fixture, ...) sluice_run(fixture, (const char *const[]){__VA_ARGS__, NULL})

#define assert_exit(expected, fixture, ...)                                                                  \
    do {                                                                                                     \
        int code_ = SLUICE_RUN(fixture, __VA_ARGS__);                                                        \
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

void assert_is_json(SluiceFixture *fixture, const char *text);

/* Write and read a file of the folder. */
void sluice_write(const SluiceFixture *fixture, const char *name, Slice content);
size_t sluice_read(const SluiceFixture *fixture, const char *name, char *content, size_t size);

/* Pushes STEP_GRAPH_AFFINE (step_graphs.h) as affine.json to the default session. */
void sluice_push_affine(SluiceFixture *fixture);

/* Takes the id of the step that the last command printed. */
void sluice_take_id(const SluiceFixture *fixture, char ret_id[SLUICE_PATH_SIZE]);
