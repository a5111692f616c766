/* Partial runs over REST, as tests drive them. Every expectation that is not met fails the test with what
 * came.
 *
 * Their graph: a = −x; b = a·y; c = b + x; d = c + z. The variable w counts: init sets it to 0, bump adds 1
 * behind a, read gives it, late gives it behind b. quotient = k / k of whole numbers fails when k is 0. p
 * says on which side of the switch side x comes out. */
#pragma once

#include "tests/support/cluster.h"

enum { PARTIAL_RUN_PATH_SIZE = 256 };

#define TWO_STAGES "{\"feeds\":[\"x\",\"y\"],\"fetches\":[\"a\",\"c\"]}"

/* A session with these options and the graph in it. */
void partial_run_ready(Cluster *cluster, const char *options);

void partial_run_create(Cluster *cluster, const char *body, RestResponse *ret_response);
/* One that is made; its path. */
void partial_run_start(Cluster *cluster, const char *options, const char *body,
    char ret_path[PARTIAL_RUN_PATH_SIZE]); /* in a session of its own, as partial_run_ready() makes it */
void partial_run_begun(Cluster *cluster, const char *body, char ret_path[PARTIAL_RUN_PATH_SIZE]);

void partial_run_go_on(Cluster *cluster, const char *path, const char *body, RestResponse *ret_response);
void partial_run_expect(Cluster *cluster, const char *path, const char *body, int status, const char *part);
void partial_run_expect_view(Cluster *cluster, const char *path, int status, const char *part);

void partial_run_await_gone(Cluster *cluster, const char *path); /* until nothing is left of it */
void partial_run_await_slots(Cluster *cluster, int wanted);      /* until the workers run so many together */
int partial_run_worker(Cluster *cluster);                        /* that runs the one slot under way */
