/* What connection.c (life of a connection), exchange.c (one round trip) and query.c (statements and
 * transactions) share. Nothing else includes this. */
#pragma once

#include <libpq-fe.h>

#include "gateway/store/connection.h"

enum { EXCHANGE_COMMANDS_MAX = 8 };

typedef enum Transaction {
    TRANSACTION_NONE,
    TRANSACTION_ASKED, /* begin travels with the first statement */
    TRANSACTION_OPEN,
    TRANSACTION_LOST, /* the connection went away inside it */
} Transaction;

struct Store {
    PGconn *connection; /* NULL when there is none */
    char *conninfo;
    char *user;
    uint64_t wait_max_ns;
    uint64_t connect_after_ns;
    uint64_t connect_pause_ns;
    Transaction transaction;
    TenantId tenant;   /* of the transaction */
    bool is_warned;    /* by the server, during the last exchange */
    bool *is_prepared; /* by Statement.index */
};

/* Gives up the connection: what it was doing ends without effect, unless a commit was under way. */
void store_disconnect(Store *store);

/* A connection that is up, made now if need be. Not for use inside a transaction. */
MUST_USE Status store_connect(Call *call, Store *store);

/* When to stop waiting for an answer that is asked for now. */
uint64_t store_wait_end_ns(const Call *call, const Store *store, uint64_t now_ns);

/* Waits until the connection can be read or written as `events` (poll's) says. Disconnects when time is up.
 */
MUST_USE Status store_wait(Call *call, Store *store, short events, uint64_t end_ns);

/* Commands that go out together and whose answers come back together. */
typedef struct Exchange {
    const Statement *commands[EXCHANGE_COMMANDS_MAX];
    bool is_prepare[EXCHANGE_COMMANDS_MAX];
    int count;
    bool has_failed;
} Exchange;

/* Adds a statement, and its preparation when this connection has not seen it. */
void exchange_add(Exchange *exchange, Store *store, const Statement *statement, const Values *values);

/* Sends what was added and waits; *ret_result is the last statement's answer, for PQclear(). */
MUST_USE Status exchange_run(Call *call, Store *store, Exchange *exchange, PGresult **ret_result);
