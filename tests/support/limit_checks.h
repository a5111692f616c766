/* What the tests of GET /api/v1/limits have in common: the gateway's limits are lowered by --limit, and the
 * tests go by the values that it shows. */
#pragma once

#include "shared/base/buffer.h"
#include "tests/support/cluster.h"

/* The value of a limit as the gateway shows it. */
uint64_t limit_shown(Cluster *cluster, const char *name);

/* A POST with one more header (NULL: none); the test fails unless the reply has the status. */
void limit_send(
    Cluster *cluster, const char *path, Slice body, const char *header, RestResponse *ret_response);
void limit_expect(Cluster *cluster, const char *path, Slice body, const char *header, int status);

/* The path of something of the cluster's session; valid until the next call. */
const char *limit_session_path(const Cluster *cluster, const char *what);

/* A graph of this many placeholders p0, p1, … */
void limit_placeholders(Buffer *graph, uint64_t count);

/* A session with a graph of this many placeholders p0, p1, … and what they feed, y0, y1, … */
void limit_pairs_create(Cluster *cluster, uint64_t count);

/* With spaces, to this size. */
void limit_pad(Buffer *text, uint64_t size);

/* A step that feeds p0 with a number in this many brackets and fetches y0. */
void limit_nested_step(Buffer *step, uint64_t depth);

/* Asks for the next version of the cluster's graph, which takes its place when it is made. */
void limit_extend(Cluster *cluster, const char *addition, int status);
