/* A worker as a process of its own, and graphs that run on it: planned here with all passes, as a gateway
 * plans them for one slot, and sent over HTTP/2. Steps belong to one session, which keeps variables.
 *
 * Ownership: graphs and tensors of answers are the caller's.
 * Threads:   one.
 * Errors:    a bench that cannot go on ends the process with a sentence. */
#pragma once

#include "shared/net/socket.h"
#include "shared/tensor/tensor.h"
#include "tests/bench/report.h"
#include "tests/support/process.h"

enum { BENCH_DIGEST_SIZE = 72 };

typedef struct Loop Loop;
typedef struct Upstream Upstream;

typedef struct BenchWorker {
    Process process;
    Loop *loop;
    Upstream *upstream;
    uint64_t session;
    uint64_t step_count;
} BenchWorker;

typedef struct BenchGraph {
    char digest[BENCH_DIGEST_SIZE];
    uint32_t feed_count;
    uint32_t fetch_count;
} BenchGraph;

/* Ends the process with this sentence unless it is so. */
void bench_must(bool is_so, const char *what);

/* Starts a worker with these arguments, NULL-terminated, and opens the session. */
void bench_worker_start(BenchWorker *worker, const char *const *arguments);
void bench_worker_stop(BenchWorker *worker);

/* Ends the session with its variables and graphs, and opens another. */
void bench_worker_renew(BenchWorker *worker);

/* Plans the graph (graph_literals.h) for the fetches, targets and at most one feed, each NULL or names with
 * blanks between, and brings it and its constants to the worker. */
BenchGraph bench_worker_load(
    BenchWorker *worker, const char *text, const char *feed, const char *fetches, const char *targets);

/* Runs one step and returns its microseconds, from the request to the end of the answer. `feed` is NULL for
 * a graph without; the first fetch goes into `ret_fetch`, unless that is NULL. */
double bench_worker_run(BenchWorker *worker, const BenchGraph *graph, const Tensor *feed, Tensor *ret_fetch);

/* Runs `count` steps, of which so many are under way at a time. Returns the microseconds of all together;
 * ret_times_ns has those of each. */
double bench_worker_run_many(BenchWorker *worker, const BenchGraph *graph, const Tensor *feed, int in_flight,
    int count, uint64_t *ret_times_ns);

/* The facts about the card in the trace of a step. */
typedef struct BenchTrace {
    char source[256]; /* who tells it; "": the worker has no card */
    size_t activity_count;
    size_t captured_count; /* of them, those in a graph that was launched at once */
    uint64_t left_out_count;
} BenchTrace;

/* Runs one traced step. */
BenchTrace bench_worker_trace(BenchWorker *worker, const BenchGraph *graph);

/* Returns the value of a metric of the worker, the sum over its labels; 0 when there is none. */
double bench_worker_metric(BenchWorker *worker, const char *name);
