/* A log line being written into fixed memory: what does not fit is left out, and the line stays valid JSON.
 * Inside shared/telemetry.
 *
 * Threads: one at a time. */
#pragma once

#include "shared/telemetry/log.h"

typedef struct LogLine {
    char bytes[LOG_LINE_SIZE];
    size_t size;
} LogLine;

void line_begin(LogLine *line);

/* One member, or, when it does not fit any more, nothing and false. */
bool line_field(LogLine *line, const LogField *field);

/* Closes the object; there is always room for that and for the mark of a cut line. */
void line_end(LogLine *line, bool is_cut);
