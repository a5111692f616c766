/* A whole Sluice for one test: a database of its own, workers and a gateway, as processes on loopback. */
#pragma once

#include "tests/support/database.h"
#include "tests/support/process.h"
#include "tests/support/rest.h"

enum { CLUSTER_WORKER_MAX = 4, CLUSTER_URL_SIZE = 512, CLUSTER_KEY_SIZE = 128 };

typedef struct ClusterOptions {
    int worker_count;                     /* 0: two workers */
    bool has_keys;                        /* --auth=keys instead of off */
    const char *const *gateway_arguments; /* further arguments, NULL-terminated; NULL: none */
    const char *const *worker_arguments;
} ClusterOptions;

typedef struct Cluster {
    Database *database;
    ClusterOptions options;
    Process gateway;
    Process workers[CLUSTER_WORKER_MAX];
    char conninfo[160];
    char session[64];           /* id, set by cluster_session() */
    char graph[64];             /* id, set by cluster_graph() */
    char step[64];              /* id, set by cluster_queued_step() */
    char partial_run[64];       /* id, set by cluster_partial_run() */
    char key[CLUSTER_KEY_SIZE]; /* "Authorization: Bearer …", sent when not empty */
} Cluster;

/* Starts all processes and waits until the gateway is ready and its workers serve. False when one does not
 * come up. */
bool cluster_start(Cluster *cluster, const ClusterOptions *options);
void cluster_stop(Cluster *cluster);

/* Starts another gateway on the same database and workers; the caller stops it. */
bool cluster_add_gateway(const Cluster *cluster, Process *ret_gateway);

/* Sends a signal to every worker: SIGSTOP holds up their runs, SIGCONT lets them go on. */
void cluster_signal_workers(const Cluster *cluster, int number);

/* Restart the gateway, or a worker, on the same address. */
bool cluster_restart_gateway(Cluster *cluster);
bool cluster_restart_worker(Cluster *cluster, int index);
bool cluster_restart_both(Cluster *cluster, int index); /* the gateway, and a worker that was lost with it */

/* cmocka's setup and teardown with two workers and --auth=off; *state is a Cluster. */
int cluster_setup(void **state);
int cluster_teardown(void **state);
#define CLUSTER_TEST(test) cmocka_unit_test_setup_teardown(test, cluster_setup, cluster_teardown)

/* A worker's own report; running_count is -1 when it does not answer. */
typedef struct WorkerUse {
    int running_count;
    int64_t partition_count; /* partitions that it has compiled */
    int64_t memory_in_use;   /* of its device, bytes */
} WorkerUse;
WorkerUse cluster_worker_use(Cluster *cluster, int index);

/* Returns how many runs the worker reports as under way; -1 when it does not answer. */
int cluster_worker_running(Cluster *cluster, int index);

/* Sends a request to the gateway; `path` starts with '/'; `body` NULL: none. */
void cluster_send(
    Cluster *cluster, const char *method, const char *path, const char *body, RestResponse *ret_response);

/* Sends a request with more headers ("Name: value", NULL-terminated). */
void cluster_send_with(Cluster *cluster, const char *method, const char *path, const char *const *headers,
    const char *body, RestResponse *ret_response);

/* Makes an API key of the tenant as an operator does; `scopes` NULL: the usual ones. The header is
 * "Authorization: Bearer …". */
void cluster_make_key(
    const Cluster *cluster, const char *tenant, const char *scopes, char ret_header[CLUSTER_KEY_SIZE]);

/* Returns the value of a series of the gateway's metrics, -1 when there is no such series. */
double cluster_metric(Cluster *cluster, const char *series);

/* Make a session with these options (JSON) and a graph in it (GraphDef JSON); fail the test when they are
 * refused. */
void cluster_session(Cluster *cluster, const char *options);
void cluster_graph(Cluster *cluster, const char *graph);
/* Sends a graph of any format to the session; `query` begins with '?' or is "". */
void cluster_push_graph(
    Cluster *cluster, const char *content_type, const char *query, Slice bytes, RestResponse *ret_response);
void cluster_graph_literal(Cluster *cluster, const char *text); /* in the form of graph_literals.h */

/* Asks with these headers for the next version of the graph. */
void cluster_extend(
    Cluster *cluster, const char *const *headers, const char *addition, RestResponse *ret_response);

/* Returns whether the step at this path is in this state ("queued", "succeeded", …). */
bool cluster_is_step_in(Cluster *cluster, const char *path, const char *wanted);

/* Queues a step in the session and waits until it has succeeded. */
void cluster_queued_step(Cluster *cluster, const char *body);

/* Sets up a partial run in the session. */
void cluster_partial_run(Cluster *cluster, const char *body);

/* Sends POST …/steps of the session; the body is the StepRequest. */
void cluster_step(Cluster *cluster, const char *body, RestResponse *ret_response);

/* Runs a step that misses its deadline. Workers have 200 ms to report what they wait for; a busy machine
 * may not let them, and then the answer lacks their words (is silent) and the step is sent again. */
enum { LATE_TRIES_MAX = 5 };
bool cluster_is_silent(RestResponse *response);
void cluster_late_step(Cluster *cluster, const char *body, RestResponse *ret_response);

/* Fail the test, and print the reply, unless it has this status and its body this part (NULL: any). */
void cluster_expect(RestResponse *response, int status, const char *part);
void cluster_expect_step(Cluster *cluster, const char *body, int status, const char *part);
