/* Limits, by name, on everything that a client can make large: one table, shown at GET /api/v1/limits. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "shared/base/call.h"

/* name, default, largest value that can be set, unit, meaning */
#define LIMITS(X)                                                                                            \
    X(header_bytes, 32768, 49152, "bytes", "the header block of a request")                                  \
    X(uri_bytes, 8192, 32768, "bytes", "the request target")                                                 \
    X(json_depth, 100, 100, "levels", "nesting of a JSON document")                                          \
    X(json_body_bytes, 67108864, 67108864, "bytes", "a JSON request body")                                   \
    X(graph_body_bytes, 68719476736, 1125899906842624, "bytes",                                              \
        "a model's file; a graph as JSON has 64 MiB")                                                        \
    X(inflated_ratio, 100, 1000, "times", "what a gzip body may grow to")                                    \
    X(graph_nodes, 65536, 1048576, "nodes", "nodes of one graph, its functions included")                    \
    X(graph_versions, 256, 4096, "versions", "versions of one graph, the first included")                    \
    X(tensor_rank, 16, 16, "dimensions", "rank of a tensor")                                                 \
    X(blob_bytes, 68719476736, 1125899906842624, "bytes", "a blob: a model's file, a tensor")                \
    X(uploads, 32, 65536, "uploads", "blobs that are being uploaded to one gateway at a time")               \
    X(tenant_uploads, 8, 65536, "uploads", "those of one tenant")                                            \
    X(step_body_bytes, 2147483648, 2147483648, "bytes", "a step's request as a form; its feeds in memory")   \
    X(step_feeds, 1024, 16384, "tensors", "feeds of one step")                                               \
    X(step_fetches, 1024, 16384, "tensors", "fetches of one step")                                           \
    X(step_lookups, 64, 4096, "look-ups", "steps that other gateways are asked about at a time, a tenant")   \
    X(event_streams, 8192, 1000000, "streams", "streams of events that a tenant has open on one gateway")    \
    X(partial_runs, 64, 65536, "runs", "partial runs that a tenant has open on one gateway")                 \
    X(partial_run_bytes, 268435456, 2147483648, "bytes", "feeds and unfetched outputs of a partial run")     \
    X(session_slots, 16, 256, "slots", "slots of a session's plans, tasks included")                         \
    X(name_bytes, 200, 200, "bytes", "the name of a session")                                                \
    X(idempotency_key_bytes, 255, 255, "bytes", "an Idempotency-Key")                                        \
    X(idempotency_answer_bytes, 16777216, 67108864, "bytes", "an answer kept whole behind a key")            \
    X(page_size, 1000, 1000, "items", "page_size of a list")                                                 \
    X(step_timeout_ms, 86400000, 86400000, "milliseconds", "the longest time a step may ask for")            \
    X(step_timeout_default_ms, 60000, 86400000, "milliseconds", "the time of a step that asks for none")     \
    X(queued_timeout_default_ms, 3600000, 86400000, "milliseconds", "the same for a queued step")            \
    X(waiting_steps, 4096, 1048576, "steps", "steps of a tenant that wait for a slot, on one gateway")       \
    X(step_wait_ms, 60000, 3600000, "milliseconds", "the longest that 'Prefer: wait' keeps an answer back")  \
    X(header_timeout_ms, 10000, 3600000, "milliseconds", "from connecting to the end of the headers")        \
    X(body_bytes_per_second, 1024, 1073741824, "bytes/s", "the slowest a body may come")                     \
    X(body_grace_ms, 10000, 3600000, "milliseconds", "before a body's speed counts")                         \
    X(idle_timeout_ms, 60000, 3600000, "milliseconds", "a connection with nothing under way")                \
    X(connections, 10000, 1000000, "connections", "open connections of one gateway")                         \
    X(connections_per_address, 1000, 1000000, "connections", "open connections of one client address")

typedef struct Limits {
#define X(name, default_value, maximum, unit, meaning) uint64_t name;
    LIMITS(X)
#undef X
} Limits;

/* One row of the table; `offset` is that of its uint64_t in Limits. */
typedef struct LimitField {
    const char *name;
    uint64_t default_value;
    uint64_t maximum;
    const char *unit;
    const char *meaning;
    size_t offset;
} LimitField;

extern const LimitField limit_table[];
extern const size_t limit_table_count;

Limits limits_default(void);

/* Returns the value of a row in `limits`. */
uint64_t limit_value(const Limits *limits, const LimitField *field);

/* Finds a limit by name; NULL when there is none. */
const LimitField *limit_find(Slice name);
void limit_set(Limits *limits, const LimitField *field, uint64_t value);

/* Sets one limit from "name=value". INVALID_ARGUMENT for an unknown name, 0, or more than the largest. */
MUST_USE Status limits_read(Call *call, Slice setting, Limits *limits);
