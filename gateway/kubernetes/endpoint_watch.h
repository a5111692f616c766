/* Watches the endpoints of one Service through the Kubernetes API: lists its EndpointSlices, then follows
 * their events, and tells the endpoints whenever they have changed. What was told stays in force while the
 * API cannot be asked.
 *
 * Ownership: texts of the options outlive the watch.
 * Threads:   it has one of its own, on which `on_endpoints` is called, and which waits for the API. A watch
 *            is made and freed on any other.
 * Errors:    INVALID_ARGUMENT for a name that is none; RESOURCE_EXHAUSTED and UNAVAILABLE when no watch can
 * be made. What the API refuses is logged, and asked again. */
#pragma once

#include "gateway/kubernetes/endpoint_slices.h"

typedef struct EndpointWatch EndpointWatch;

typedef struct EndpointWatchOptions {
    Slice service;       /* "service", "service:port", "namespace/service:port" */
    const char *api;     /* URL of the API, without a path */
    const char *account; /* folder of the service account: token, ca.crt, namespace */
    void (*on_endpoints)(void *context, const Endpoint *endpoints, size_t count);
    void *context;
} EndpointWatchOptions;

MUST_USE Status endpoint_watch_new(
    Call *call, const EndpointWatchOptions *options, EndpointWatch **ret_watch);

/* Ends the thread, which breaks off a request that is under way, and frees. NULL is allowed. */
void endpoint_watch_free(EndpointWatch *watch);
