/* One JSON object a line and event, on standard error:
 * {"time":"2026-11-21T10:11:12.123456Z","level":"info","program":"sluice-worker","message":"started","port":4711}
 *
 *     log_event(LOG_INFO, "step finished", log_text("step", id), log_integer("elapsed_us", elapsed));
 *
 * Messages are constant sentences, so that people and programs can search for them; what varies is a field.
 * Never a secret, tensor contents, or a whole header.
 *
 * Threads: any. A line is one write of at most 4096 bytes (PIPE_BUF), so that lines do not mix; a reader that
 *          does not keep up loses lines, counted by log_dropped_count(), and never blocks the program.
 * Errors:  none; a line too long loses its last fields and says so. */
#pragma once

#include "shared/base/call.h"
#include "shared/base/slice.h"

typedef enum LogLevel { LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERROR } LogLevel;

typedef enum LogKind { LOG_KIND_NONE, LOG_KIND_TEXT, LOG_KIND_INTEGER, LOG_KIND_BOOLEAN } LogKind;

typedef struct LogField {
    const char *name; /* snake_case, a literal */
    LogKind kind;
    Slice text; /* any bytes: escaped, and cut after LOG_TEXT_SIZE_MAX */
    int64_t integer;
} LogField;

enum { LOG_LINE_SIZE = 4096, LOG_TEXT_SIZE_MAX = 256 };

/* Called by main before the first event. `program` is a literal. Events below `level` cost one load. */
void log_init(const char *program, LogLevel level, int descriptor);
bool log_level_from_name(Slice name, LogLevel *ret_level); /* "debug", "info", "warning", "error" */

#define log_event(level, ...) log_event_first(level, __VA_ARGS__, (LogField){.kind = LOG_KIND_NONE})
#define log_event_first(level, message, ...)                                                                 \
    log_write(level, message, (const LogField[]){__VA_ARGS__}, COUNT_OF(((const LogField[]){__VA_ARGS__})))

void log_write(LogLevel level, const char *message, const LogField *fields, size_t field_count);

/* Holds this thread's lines back until log_flush(), or until no further one fits into the same write: a
 * loop writes the events of a turn at its end. An abort in between loses them. */
void log_hold(void);
void log_flush(void);

/* Logs a Call that failed, at the top of a stack: its request id, code, error and where it arose. */
void log_failure(LogLevel level, const char *message, const Call *call);

uint64_t log_dropped_count(void);

static inline LogField
log_slice(const char *name, Slice text)
{
    return (LogField){.name = name, .kind = LOG_KIND_TEXT, .text = text};
}

static inline LogField
log_text(const char *name, const char *text)
{
    return log_slice(name, slice_from_string(text));
}

static inline LogField
log_integer(const char *name, int64_t value)
{
    return (LogField){.name = name, .kind = LOG_KIND_INTEGER, .integer = value};
}

static inline LogField
log_boolean(const char *name, bool value)
{
    return (LogField){.name = name, .kind = LOG_KIND_BOOLEAN, .integer = value};
}
