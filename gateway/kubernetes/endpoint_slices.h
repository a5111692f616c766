/* The EndpointSlices (discovery.k8s.io/v1) of one Service, as a list and the events behind it tell: which
 * addresses its pods have at a port, and which of them may get new work.
 *
 * An endpoint takes new work when it is ready and not being ended; `ready` that is not said counts as true,
 * as the API asks of its readers. One that does not stays an endpoint until its slice drops it: what runs
 * there may end. An address that several slices name, as happens while one is moved, is one endpoint. Slices
 * of another address type than IPv4 and IPv6, or without the port, have none.
 *
 * Ownership: owns copies of what it was told.
 * Threads:   one at a time.
 * Errors:    INVALID_ARGUMENT for what is no such JSON, RESOURCE_EXHAUSTED without memory. A failure of a
 *            list or an event leaves what was known. */
#pragma once

#include "shared/base/buffer.h"
#include "shared/base/call.h"
#include "shared/base/slice.h"
#include "shared/net/socket.h"

typedef struct EndpointSlices EndpointSlices;

typedef struct Endpoint {
    char address[ADDRESS_TEXT_SIZE]; /* "10.0.0.7:8471", "[fd00::7]:8471" */
    bool takes_steps;
} Endpoint;

/* `port` is the name of the port, which outlives the slices; "": the only port of each slice. */
MUST_USE EndpointSlices *endpoint_slices_new(Slice port);
void endpoint_slices_free(EndpointSlices *slices); /* NULL is allowed */

/* What a page of a list, or an event, says of the watch itself; texts lie in the call's arena. */
typedef struct SliceNews {
    Slice resource_version; /* to watch from; empty: it says none */
    Slice next_page;        /* "continue" of a list; empty: this page is the last one */
    bool is_error;          /* of an event: the watch has failed, with this code and sentence */
    int64_t code;
    Slice message;
} SliceNews;

/* Begins a list: slices that none of its pages names are dropped by endpoint_slices_end(). */
void endpoint_slices_begin(EndpointSlices *slices);
MUST_USE Status endpoint_slices_read_page(
    Call *call, EndpointSlices *slices, Slice page, SliceNews *ret_news);
void endpoint_slices_end(EndpointSlices *slices);

/* Reads one event of a watch, a line of its answer. */
MUST_USE Status endpoint_slices_read_event(
    Call *call, EndpointSlices *slices, Slice line, SliceNews *ret_news);

/* Appends every endpoint once, an Endpoint each. False without memory. */
MUST_USE bool endpoint_slices_collect(const EndpointSlices *slices, Buffer *endpoints);
