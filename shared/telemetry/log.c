#include "shared/telemetry/log.h"

#include <poll.h>
#include <unistd.h>

#include "shared/base/atomic.h"
#include "shared/base/clock.h"
#include "shared/base/mutex.h"
#include "shared/telemetry/line.h"

static const char *const level_names[] = {
    [LOG_DEBUG] = "debug", [LOG_INFO] = "info", [LOG_WARNING] = "warning", [LOG_ERROR] = "error"};

static const char *log_program = "sluice";
static LogLevel log_level = LOG_INFO;
static int log_descriptor = STDERR_FILENO;
static uint64_t dropped_count;

/* Between poll() and write() nobody else of this process may take the room that poll() saw. */
static Mutex write_mutex = MUTEX_INITIALIZER;

void
log_init(const char *program, LogLevel level, int descriptor)
{
    log_program = program;
    log_descriptor = descriptor;
    atomic_store_release(&log_level, level);
}

bool
log_level_from_name(Slice name, LogLevel *ret_level)
{
    for (size_t index = 0; index < COUNT_OF(level_names); index++) {
        if (slice_equals_string(name, level_names[index])) {
            *ret_level = (LogLevel)index;
            return true;
        }
    }
    return false;
}

/* Whole lines that this thread keeps back: never more than one write takes. */
static _Thread_local struct {
    bool is_holding;
    size_t size;
    size_t line_count;
    char bytes[LOG_LINE_SIZE];
} held;

/* A pipe is writable when PIPE_BUF bytes fit, so that a write behind poll() does not block. */
static void
lines_send(const char *bytes, size_t size, size_t line_count)
{
    struct pollfd target = {.fd = log_descriptor, .events = POLLOUT};
    mutex_lock(&write_mutex);
    const bool is_sent = poll(&target, 1, 0) == 1 && (target.revents & POLLOUT) != 0 &&
                         write(log_descriptor, bytes, size) == (ssize_t)size;
    mutex_unlock(&write_mutex);
    if (!is_sent) {
        (void)atomic_add_relaxed(&dropped_count, line_count);
    }
}

static void
held_send(void)
{
    if (held.line_count > 0) {
        lines_send(held.bytes, held.size, held.line_count);
        held.size = 0;
        held.line_count = 0;
    }
}

static void
line_send(const LogLine *line)
{
    if (!held.is_holding) {
        lines_send(line->bytes, line->size, 1);
        return;
    }
    if (line->size > sizeof held.bytes - held.size) {
        held_send();
    }
    memcpy(held.bytes + held.size, line->bytes, line->size);
    held.size += line->size;
    held.line_count++;
}

void
log_hold(void)
{
    held.is_holding = true;
}

void
log_flush(void)
{
    held.is_holding = false;
    held_send();
}

void
log_write(LogLevel level, const char *message, const LogField *fields, size_t field_count)
{
    if (level < atomic_load_acquire(&log_level)) {
        return;
    }
    char stamp[CLOCK_STAMP_SIZE];
    clock_stamp(clock_wall_us(), stamp);
    const LogField opening[] = {
        log_text("time", stamp),
        log_text("level", level_names[level]),
        log_text("program", log_program),
        log_text("message", message),
    };
    LogLine line;
    line_begin(&line);
    for (size_t index = 0; index < COUNT_OF(opening); index++) {
        (void)line_field(&line, &opening[index]);
    }
    bool is_cut = false;
    for (size_t index = 0; index < field_count; index++) {
        if (fields[index].kind != LOG_KIND_NONE && !line_field(&line, &fields[index])) {
            is_cut = true;
        }
    }
    line_end(&line, is_cut);
    line_send(&line);
}

void
log_failure(LogLevel level, const char *message, const Call *call)
{
    const Error *const error = &call->error;
    log_event(level, message, log_text("request_id", call->request_id),
        log_text("code", status_name(error->code)), log_text("error", error->message),
        log_text("file", error->file), log_integer("line", error->line));
}

uint64_t
log_dropped_count(void)
{
    return atomic_load_relaxed(&dropped_count);
}
