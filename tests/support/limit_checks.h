/* Helpers of the tests of GET /api/v1/limits: the gateway's limits are lowered by --limit, and the tests
 * use the values that it shows. */
#pragma once

#include "shared/base/buffer.h"
#include "tests/support/cluster.h"

/* Returns the value of a limit as the gateway shows it. */
uint64_t limit_shown(Cluster *cluster, const char *name);

/* Sends a POST with one more header (NULL: none); the test fails unless the reply has the status. */
void limit_send(
    Cluster *cluster, const char *path, Slice body, const char *header, RestResponse *ret_response);
void limit_expect(Cluster *cluster, const char *path, Slice body, const char *header, int status);

/* Returns a path below the cluster's session; valid until the next call. */
const char *limit_session_path(const Cluster *cluster, const char *what);

/* Writes a graph of this many placeholders p0, p1, … */
void limit_placeholders(Buffer *graph, uint64_t count);

/* Creates a session with a graph of this many placeholders p0, p1, …, each followed by a node y0, y1, … */
void limit_pairs_create(Cluster *cluster, uint64_t count);

/* Pads a text with spaces to this size. */
void limit_pad(Buffer *text, uint64_t size);

/* Writes a step that feeds p0 with a number in this many brackets and fetches y0. */
void limit_nested_step(Buffer *step, uint64_t depth);

/* Asks for the next version of the cluster's graph, which becomes the cluster's graph when it is made. */
void limit_extend(Cluster *cluster, const char *addition, int status);
