/* Partial runs over REST, as tests drive them. A failed expectation fails the test and prints the reply.
 *
 * Their graph: a = −x; b = a·y; c = b + x; d = c + z. The variable w counts: init sets it to 0, bump adds
 * 1 after a, read returns it, late returns it after b. quotient = k / k of whole numbers fails when k is
 * 0. p chooses the side of the switch on which x comes out. */
#pragma once

#include "tests/support/cluster.h"

enum { PARTIAL_RUN_PATH_SIZE = 256 };

#define TWO_STAGES "{\"feeds\":[\"x\",\"y\"],\"fetches\":[\"a\",\"c\"]}"

/* Makes a session with these options and the graph in it. */
void partial_run_ready(Cluster *cluster, const char *options);

void partial_run_create(Cluster *cluster, const char *body, RestResponse *ret_response);
/* Sets up a partial run and returns its path. */
void partial_run_start(Cluster *cluster, const char *options, const char *body,
    char ret_path[PARTIAL_RUN_PATH_SIZE]); /* in a session of its own, as partial_run_ready() makes it */
void partial_run_begun(Cluster *cluster, const char *body, char ret_path[PARTIAL_RUN_PATH_SIZE]);

void partial_run_go_on(Cluster *cluster, const char *path, const char *body, RestResponse *ret_response);
void partial_run_expect(Cluster *cluster, const char *path, const char *body, int status, const char *part);
void partial_run_expect_view(Cluster *cluster, const char *path, int status, const char *part);

void partial_run_await_gone(Cluster *cluster, const char *path); /* waits until nothing is left of it */
void partial_run_await_slots(Cluster *cluster, int wanted);      /* waits until the workers run so many
                                                                  * slots together */
int partial_run_worker(Cluster *cluster);                        /* returns the worker that runs the one
                                                                  * slot under way */
