/* The worker's HTTP/2 server on one loop thread: connections, requests, answers. */
#pragma once

#include "worker/serve/worker.h"

struct WorkerLoop {
    Worker *worker;
    Loop *loop;
    Watch listener;
    ListLink connections; /* ServerConnection */
    ListLink requests;    /* WorkerRequest */
    size_t request_count;
    uint64_t run_ns;         /* when the turn began in which the last run started */
    ListLink spare_requests; /* ended ones */
    size_t spare_count;
    Transport *transport; /* to the other slots of steps that run here */
    Task drain;           /* posted by worker_stop() */
    Timer drained;
    bool is_closing; /* no new requests any more */
    Timer sweep;     /* drops steps that have expired */
    uint32_t grace_ms;
};

/* Opens the loop's own listening socket on `address` (SO_REUSEPORT). */
MUST_USE Status worker_loop_open(Call *call, Worker *worker, const char *address, WorkerLoop **ret_loop);
/* Takes no more connections and ends those there are, so that their runs are cancelled. */
void worker_loop_disconnect(WorkerLoop *loop);
void worker_loop_close(WorkerLoop *loop); /* NULL is allowed */

/* Serves what running steps need until the worker is idle, then refuses new requests and stops the loop when
 * the last one has ended; at most after `grace_ms`. Any thread. */
void worker_loop_drain(WorkerLoop *loop, uint32_t grace_ms);
