/* One socket: its phases, a deadline for each, and the watch for a peer that hangs up.
 *
 * Only gateway/http includes this. libmicrohttpd reads and writes the socket; a connection decides when it
 * may (suspended while a handler works), and how long it waits for its peer.
 *
 * Ownership: libmicrohttpd opens and closes connections (connection_notify).
 * Threads:   the loop's thread only.
 * Errors:    a connection that cannot be opened gets no exchange; libmicrohttpd then closes it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <microhttpd.h>

#include "shared/base/clock.h"
#include "shared/base/list.h"
#include "shared/base/slice.h"
#include "shared/net/loop.h"

typedef struct Connection Connection;
typedef struct Exchange Exchange;

typedef enum ConnectionPhase {
    CONNECTION_IDLE,  /* between requests */
    CONNECTION_HEAD,  /* receiving a request's head */
    CONNECTION_BODY,  /* receiving its body */
    CONNECTION_WORK,  /* the gateway works on it */
    CONNECTION_REPLY, /* sending; libmicrohttpd counts the idle time */
    CONNECTION_CUT,   /* refused; reads on for a moment, so that the peer sees the reply before a reset */
} ConnectionPhase;

/* Calls to the layer above. An exchange is passed only to the phases that have one. */
typedef struct ConnectionEvents {
    void (*head_overdue)(Connection *connection);
    void (*body_overdue)(Exchange *exchange);
    void (*work_overdue)(Exchange *exchange);
    void (*hung_up)(Exchange *exchange); /* the peer is gone while the connection is suspended */
    void (*closed)(Exchange *exchange);  /* the connection ends before its exchange does */
} ConnectionEvents;

/* All connections of one server. */
typedef struct Connections {
    Loop *loop;
    const ConnectionEvents *events;
    Task *run_daemon; /* deferred when libmicrohttpd must look at a resumed connection */
    uint32_t head_timeout_ms;
    uint32_t idle_timeout_ms;
    ListLink list;
    size_t count;
} Connections;

struct Connection {
    ListLink siblings;
    Connections *owner;
    struct MHD_Connection *mhd;
    Exchange *exchange; /* NULL between requests */
    Watch watch;
    Timer timer; /* due at the deadline or before it: it is moved lazily, when it fires */
    uint64_t deadline_ns;
    ConnectionPhase phase;
    bool is_suspended;
    bool is_gone; /* the peer has closed its side */
};

/* Returns the loop's time in `delay_ms`. */
static inline uint64_t
deadline_after_ms(const Loop *loop, uint32_t delay_ms)
{
    return loop_now_ns(loop) + delay_ms * CLOCK_NS_PER_MS;
}

/* Opens and closes connections: libmicrohttpd's MHD_NotifyConnectionCallback over a Connections. */
void connection_notify(
    void *connections, struct MHD_Connection *mhd, void **context, enum MHD_ConnectionNotificationCode code);

/* Enters a phase that ends at the deadline, 0 for none. */
void connection_enter(Connection *connection, ConnectionPhase phase, uint64_t deadline_ns);

/* Waits for the next request, for the idle timeout at most. */
void connection_rest(Connection *connection);

/* libmicrohttpd neither reads nor writes a suspended connection, nor calls back for it. */
void connection_suspend(Connection *connection);
void connection_resume(Connection *connection);

/* Makes libmicrohttpd read the socket once more, though it may believe that nothing is left: it takes a short
 * read for the last one before the next event, and misses an end that came together with the last bytes. */
void connection_look(Connection *connection);

/* Writes what the socket takes at once, stops sending, and reads on for a moment. */
void connection_cut(Connection *connection, Slice reply);

/* Tells whether bytes have come that nobody has read yet. */
bool connection_has_news(const Connection *connection);

/* Returns how many sent bytes the peer has not acknowledged yet. */
size_t connection_unacknowledged(const Connection *connection);

/* Shuts the socket down at once, without a reply. */
void connection_shut(Connection *connection);
