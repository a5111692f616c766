/* The entries "kubernetes:…" of a gateway's list of workers: a watch of each, whose endpoints are handed to
 * discovery on its loop.
 *
 * Ownership: owns the watches. Stop it before its loop is turned for the last time, free it after.
 * Threads:   its loop's.
 * Errors:    those of endpoint_watch_new(). */
#pragma once

#include "gateway/dispatch/discovery.h"

typedef struct EndpointSources EndpointSources;

/* How to reach the Kubernetes API; texts outlive the sources. */
typedef struct KubernetesAccess {
    const char *api;
    const char *account; /* folder of the service account */
} KubernetesAccess;

typedef struct EndpointSourcesOptions {
    Loop *loop;
    Discovery *discovery;
    const Slice *addresses; /* all entries of the list */
    size_t address_count;
    KubernetesAccess access;
} EndpointSourcesOptions;

/* Starts to watch. On failure *ret_sources holds what was started, to be stopped and freed. */
MUST_USE Status endpoint_sources_start(
    Call *call, const EndpointSourcesOptions *options, EndpointSources **ret_sources);

void endpoint_sources_stop(EndpointSources *sources); /* NULL is allowed */
void endpoint_sources_free(EndpointSources *sources); /* NULL is allowed */
