/* A connection's state, and one round trip on it in libpq's pipeline mode. Only gateway/store includes this:
 * callers of the store use connection.h.
 *
 *   pipeline.c    waits on the socket, sends commands and reads their answers
 *   connection.c  connects, and closes
 *   query.c       statements and transactions, made of pipelines */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <libpq-fe.h>

#include "gateway/store/statement.h"
#include "gateway/store/values.h"
#include "shared/base/call.h"
#include "shared/base/uuid.h"

typedef struct Store Store;
typedef struct BlobBackend BlobBackend; /* gateway/store/blob_backend.h */

enum { PIPELINE_COMMANDS_MAX = 8, TRANSACTION_NUMBER_SIZE = 21 };

typedef enum Transaction {
    TRANSACTION_NONE,
    TRANSACTION_ASKED, /* begin travels with the first statement */
    TRANSACTION_OPEN,
    TRANSACTION_LOST, /* the connection was lost inside it */
} Transaction;

struct Store {
    PGconn *connection; /* NULL when there is none */
    char *conninfo;
    char *user;
    char *gateway;      /* NULL: none */
    BlobBackend *blobs; /* NULL: large blobs lie in PostgreSQL */
    uint64_t wait_max_ns;
    uint64_t connect_after_ns;
    uint64_t connect_pause_ns;
    Transaction transaction;
    TenantId tenant;                                  /* of the transaction */
    char transaction_number[TRANSACTION_NUMBER_SIZE]; /* of the last one that was begun, as PostgreSQL has it
                                                       */
    bool is_probe;                                    /* StoreOptions.is_probe */
    bool is_wide;      /* libpq's buffers have grown for a large value; counted in the process */
    bool is_warned;    /* the server sent a warning during the last pipeline */
    bool *is_prepared; /* by Statement.index */
};

/* Gives up the connection: its work ends without effect, unless a commit was under way. */
void store_disconnect(Store *store);

/* Closes a connection with wide buffers when more than a few of the process are wide, for the next statement
 * to connect again: libpq never gives the memory of its buffers back. Nothing happens in a transaction. */
void store_slim(Store *store);

/* Returns the time at which to stop waiting for an answer that is asked for now: the call's deadline, or
 * `wait_max_ns` from now. */
uint64_t store_wait_end_ns(const Call *call, const Store *store, uint64_t now_ns);

/* Waits until the connection can be read or written, as `events` (poll's) says. Disconnects when time is up
 * (DEADLINE_EXCEEDED) or PostgreSQL answers nobody (UNAVAILABLE). */
MUST_USE Status store_wait(Call *call, Store *store, short events, uint64_t end_ns);

/* Connects if there is no connection, or none that is up. Not for use inside a transaction. */
MUST_USE Status store_connect(Call *call, Store *store);

/* Commands that go out together and whose answers come back together. */
typedef struct Pipeline {
    const Statement *commands[PIPELINE_COMMANDS_MAX];
    bool is_prepare[PIPELINE_COMMANDS_MAX];
    int count;
    bool has_failed;
} Pipeline;

/* Adds a statement, and its preparation when this connection has not prepared it. */
void pipeline_add(Pipeline *pipeline, Store *store, const Statement *statement, const Values *values);

/* Sends the commands and waits; *ret_result is the last statement's answer, for PQclear(). */
MUST_USE Status pipeline_run(Call *call, Store *store, Pipeline *pipeline, PGresult **ret_result);
