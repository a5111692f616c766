/* A client and a server of shared/h2 on one loop, over a real socket, that log their events.
 *
 * The server echoes: it answers 200 and sends back what it receives. A test changes that by its hook,
 * which sees every event before the default action. */
#pragma once

#include "shared/h2/h2.h"
#include "shared/net/socket.h"

typedef enum Side { CLIENT, SERVER, SIDES } Side;

enum { PROBES_MAX = 3000 };

/* One side of one stream, and its events. */
typedef struct Probe {
    H2Stream *stream; /* NULL after on_close */
    Side side;
    char log[64]; /* h: headers, H: headers that are last, d: data (once a run), e: end, w: writable, c: close
                   */
    int status;
    char path[32];
    size_t header_count;
    uint64_t received;
    Status reason;
} Probe;

/* Returns true when the event is handled, and the default action is left out. */
typedef bool (*PairHook)(Probe *probe, char event, Slice data);

typedef struct Pair {
    Loop *loop;
    Watch listener;
    char address[ADDRESS_TEXT_SIZE];
    H2Connection *connections[SIDES];
    int disconnects[SIDES];
    Status reasons[SIDES];
    Probe probes[SIDES][PROBES_MAX];
    size_t probe_count[SIDES];
    PairHook hook;
    H2Options options[SIDES];
    int released;    /* how often pair_release() was called */
    uint64_t events; /* events of all probes and connections */
} Pair;

extern Pair pair; /* one in each program */

/* Opens the loop and the listener; the caller may change the options until pair_connect(). */
void pair_open(PairHook hook);
void pair_connect(void); /* both sides are connected when it returns */
void pair_close(void);

/* Set up and tear down a test for cmocka, with a pair whose server echoes. */
int pair_setup(void **state);
int pair_teardown(void **state);
#define PAIR_TEST(test) cmocka_unit_test_setup_teardown(test, pair_setup, pair_teardown)

/* Returns a file descriptor that is connected to the server, for raw bytes. */
int pair_connect_raw(void);

/* Sends a request; NULL when the connection takes none. */
Probe *pair_request(const char *path, bool is_last);

void pair_release(void *owner); /* counts its calls */

/* Turns the loop until the condition holds; fails the test when nothing has happened for 20 s. */
#define PAIR_UNTIL(condition)                                                                                \
    do {                                                                                                     \
        uint64_t pair_events_ = pair.events;                                                                 \
        uint64_t pair_since_ = loop_now_ns(pair.loop);                                                       \
        while (!(condition)) {                                                                               \
            pair_since_ = pair.events == pair_events_ ? pair_since_ : loop_now_ns(pair.loop);                \
            pair_events_ = pair.events;                                                                      \
            assert_true(loop_now_ns(pair.loop) - pair_since_ < UINT64_C(20000000000));                       \
            loop_turn(pair.loop, 100);                                                                       \
        }                                                                                                    \
    } while (0)

/* Turns the loop so often, for at most a millisecond where nothing has come: a busy kernel may deliver what
 * was sent over loopback a little later. */
void pair_turns(int count);
