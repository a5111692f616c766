/* What the files of this module share: the upstream of a loop, its connections, and a call under way. */
#pragma once

#include "shared/base/map.h"
#include "shared/h2/h2.h"
#include "shared/net/socket.h"
#include "shared/upstream/upstream.h"

struct Upstream {
    Loop *loop;
    UpstreamOptions options;
    Map *peers;      /* address → Peer */
    ListLink failed; /* calls that could not be opened, to be told at the end of the turn */
    Task tell_failed;
    ListLink spare_calls; /* ended ones: their memory serves the next */
    size_t spare_count;
};

typedef struct Peer {
    Upstream *upstream;
    H2Connection *connection; /* NULL: not connected */
    char address[ADDRESS_TEXT_SIZE];
} Peer;

struct UpstreamCall {
    ListLink link;
    Upstream *upstream;
    H2Stream *stream; /* NULL when it could not be opened */
    const UpstreamEvents *events;
    void *context;
    Arena *arena;
    Timer deadline;
    FrameReader *reader; /* NULL until an answer was frames: of this call or of one before */
    bool has_frames;     /* this one's is */
    Buffer body;
    bool is_paused;
    size_t owed; /* bytes received while paused, for which the worker has no credit yet */
    int http_status;
    Status failure; /* OK, or why we ended the stream ourselves */
    char message[ERROR_MESSAGE_SIZE + ADDRESS_TEXT_SIZE + 32];
};

/* call.c */

/* With an arena, and perhaps a reader, of its own. NULL without memory. */
MUST_USE UpstreamCall *upstream_call_new(Upstream *upstream);
void upstream_call_free(UpstreamCall *call);

/* Tells the caller, who must forget it. */
void upstream_call_end(UpstreamCall *call, Status status, const char *message);

/* We end the stream ourselves: on_done follows with this status. */
void upstream_call_break(UpstreamCall *call, Status status, const char *message);

/* answer.c: what a call's stream and a peer's connection are told. */
extern const H2Handlers upstream_handlers;
