/* W3C Trace Context: the header traceparent, which tells to which trace a piece of work belongs,
 * "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".
 *
 * Threads: any. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "shared/base/slice.h"

enum {
    TRACE_ID_SIZE = 16,
    SPAN_ID_SIZE = 8,
    TRACE_ID_TEXT_SIZE = TRACE_ID_SIZE * 2 + 1,
    TRACE_TEXT_SIZE = sizeof "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
};

typedef struct TraceContext {
    unsigned char trace_id[TRACE_ID_SIZE];
    unsigned char span_id[SPAN_ID_SIZE];
    bool is_sampled;
} TraceContext;

TraceContext trace_new(bool is_sampled);

/* Returns a new span of the same trace. */
TraceContext trace_child(const TraceContext *parent);

/* Returns false when the header must be ignored (Trace Context 3.2.2): other lengths, upper-case digits,
 * identities of zeros only, version ff. A later version is read as far as version 00 goes. */
bool trace_parse(Slice text, TraceContext *ret_trace);

void trace_format(const TraceContext *trace, char ret_text[TRACE_TEXT_SIZE]);
void trace_id_format(const TraceContext *trace, char ret_text[TRACE_ID_TEXT_SIZE]);
