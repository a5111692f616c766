/* A small site on top of tests/support/http_servers.h, for clients that send raw bytes: handlers of each
 * kind, and hooks that know the keys "cached", "stale" and "stored". Two servers serve it, the second one
 * with short deadlines. */
#pragma once

#include "gateway/http/server.h"
#include "tests/support/http_servers.h"
#include "tests/support/raw_http.h"

enum {
    HTTP_SITE_TIMEOUT_MS = 20000, /* for an answer that must come, however slow the machine */
    HTTP_SITE_LENT_SIZE = 3 * 1024 * 1024,
    HTTP_SITE_PIECE_SIZE = 128 * 1024,
    HTTP_SITE_QUEUED_MAX = 1024 * 1024,
    HTTP_SITE_WINDOW_SIZE = 256 * 1024,
};

/* Counts of the handlers and hooks: written on the servers' threads, to be read atomically. */
typedef struct HttpSiteSeen {
    uint64_t waiting; /* requests of the handlers that wait */
    uint64_t cancelled_at_ns;
    uint64_t stream_queued_max;
    uint64_t stream_closed;
    uint64_t stream_released;
    uint64_t lent; /* lent bytes that were given back */
    uint64_t windows_begun;
    uint64_t windows_taken; /* bytes */
    uint64_t windows_ended;
    bool windows_are_held;         /* no window is taken until this is false */
    uint64_t keys_asked;           /* requests whose keys had to be looked up */
    uint64_t key_look_ups;         /* calls for any number of them */
    uint64_t stale_behind_unknown; /* keys that should have come first */
    bool keys_are_held;            /* no look-up of keys ends until this is false */
    uint64_t logged;
    int log_status;
} HttpSiteSeen;

extern HttpSiteSeen http_site_seen;
extern char http_site_lent[HTTP_SITE_LENT_SIZE]; /* the body of GET /lend */
extern char http_site_reply[RAW_REPLY_SIZE];     /* the last reply to http_site_ask() */
extern const Handler *const http_site_handlers[];

/* Sets up a group of tests; http_servers_stop() tears it down. */
int http_site_start(void **state);
const char *http_site_usual(void); /* addresses */
const char *http_site_impatient(void);

/* Sends one request to the usual server, on a connection of its own, and returns the reply's status. */
int http_site_ask(const char *request);
