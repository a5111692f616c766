#include "shared/telemetry/log.h"

#include <assert.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "shared/base/atomic.h"
#include "shared/base/clock.h"
#include "shared/base/mutex.h"

typedef struct LogLine {
    char bytes[LOG_LINE_SIZE];
    size_t size;
} LogLine;

#define LINE_CUT ",\"cut\":true"
enum { END_ROOM = sizeof LINE_CUT "}\n" };

/* Appends the text when it fits; else the caller takes the whole member back. */
static bool
line_append(LogLine *line, const char *text, size_t size)
{
    if (size > sizeof line->bytes - END_ROOM - line->size) {
        return false;
    }
    memcpy(line->bytes + line->size, text, size);
    line->size += size;
    return true;
}

typedef struct Range {
    uint32_t first;
    uint32_t last;
} Range;

/* Characters that could move a terminal's cursor, start a line, or turn text around under a reader's eyes. */
static const Range hidden[] = {
    {0x00, 0x1f},
    {0x7f, 0x9f},     /* DEL and C1 */
    {0x61c, 0x61c},   /* Arabic letter mark */
    {0x200b, 0x200f}, /* zero width, left-to-right and right-to-left marks */
    {0x2028, 0x202e}, /* line and paragraph separators, embeddings and overrides */
    {0x2060, 0x2069}, /* word joiner, isolates */
    {0xfeff, 0xfeff},
};

static bool
is_hidden(uint32_t code)
{
    for (size_t index = 0; index < COUNT_OF(hidden); index++) {
        if (code >= hidden[index].first && code <= hidden[index].last) {
            return true;
        }
    }
    return false;
}

/* Returns the number of bytes of a character with this first byte, 0 when none begins so. */
static size_t
character_length(unsigned char first)
{
    if (first < 0x80) {
        return 1;
    }
    if (first < 0xc2 || first > 0xf4) {
        return 0;
    }
    return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

/* Decodes one character of UTF-8 (RFC 3629); returns its length, or 0 when the bytes are not one. */
static size_t
decode_character(const unsigned char *bytes, size_t size, uint32_t *ret_code)
{
    static const uint32_t minimum[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = character_length(bytes[0]);
    if (length == 0 || length > size) {
        return 0;
    }
    uint32_t code = length == 1 ? bytes[0] : bytes[0] & (0xffu >> (length + 1));
    for (size_t index = 1; index < length; index++) {
        if ((bytes[index] & 0xc0) != 0x80) {
            return 0;
        }
        code = code << 6 | (bytes[index] & 0x3fu);
    }
    bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
    if (code < minimum[length] || code > 0x10ffff || is_surrogate) {
        return 0;
    }
    *ret_code = code;
    return length;
}

/* Writes the first character of the text; returns the bytes of the text that it took, 0 when the line is
 * full. */
static size_t
append_character(LogLine *line, Slice text)
{
    uint32_t code = 0;
    size_t length = decode_character((const unsigned char *)text.data, text.size, &code);
    char escape[sizeof "\\uffff"];
    bool fits = false;
    if (length == 0) {
        length = 1;
        fits = line_append(line, "\\ufffd", sizeof escape - 1);
    } else if (code == '"' || code == '\\') {
        escape[0] = '\\';
        escape[1] = (char)code;
        fits = line_append(line, escape, 2);
    } else if (is_hidden(code)) {
        (void)snprintf(escape, sizeof escape, "\\u%04x", (unsigned)(code & 0xffff));
        fits = line_append(line, escape, sizeof escape - 1);
    } else {
        fits = line_append(line, text.data, length);
    }
    return fits ? length : 0;
}

/* Counts the bytes that are written as they are: printable ASCII, nearly always the whole text. */
static size_t
plain_length(Slice text)
{
    size_t length = 0;
    while (length < text.size && text.data[length] >= ' ' && text.data[length] < 0x7f &&
           text.data[length] != '"' && text.data[length] != '\\') {
        length++;
    }
    return length;
}

/* Writes a text in quotes. One that is too long ends in "…", never inside a character. */
static bool
append_text(LogLine *line, Slice text)
{
    bool fits = line_append(line, "\"", 1);
    size_t start = 0;
    while (fits && start < text.size && start < LOG_TEXT_SIZE_MAX) {
        Slice rest = slice_part(text, start, text.size);
        size_t plain = plain_length(slice_part(rest, 0, LOG_TEXT_SIZE_MAX - start));
        size_t taken = plain == 0 ? append_character(line, rest) : plain;
        fits = plain == 0 ? taken > 0 : line_append(line, rest.data, plain);
        start += taken;
    }
    if (start < text.size) {
        fits = fits && line_append(line, "…", sizeof "…" - 1);
    }
    return fits && line_append(line, "\"", 1);
}

static bool
append_integer(LogLine *line, int64_t value)
{
    char digits[sizeof "-9223372036854775808"];
    size_t start = sizeof digits;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do {
        digits[--start] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (value < 0) {
        digits[--start] = '-';
    }
    return line_append(line, digits + start, sizeof digits - start);
}

static bool
append_value(LogLine *line, const LogField *field)
{
    if (field->kind == LOG_KIND_TEXT) {
        return append_text(line, field->text);
    }
    if (field->kind == LOG_KIND_BOOLEAN) {
        return field->integer != 0 ? line_append(line, "true", 4) : line_append(line, "false", 5);
    }
    return append_integer(line, field->integer);
}

static void
line_begin(LogLine *line)
{
    line->bytes[0] = '{';
    line->size = 1;
}

static bool
line_field(LogLine *line, const LogField *field)
{
    size_t before = line->size;
    bool fits = line_append(line, ",", line->size > 1 ? 1 : 0) &&
                append_text(line, slice_from_string(field->name)) && line_append(line, ":", 1) &&
                append_value(line, field);
    if (!fits) {
        line->size = before;
    }
    return fits;
}

static void
line_end(LogLine *line, bool is_cut)
{
    assert(line->size <= sizeof line->bytes - END_ROOM);

    Slice end = is_cut ? SLICE(LINE_CUT "}\n") : SLICE("}\n");
    memcpy(line->bytes + line->size, end.data, end.size);
    line->size += end.size;
}

static const char *const level_names[] = {
    [LOG_DEBUG] = "debug", [LOG_INFO] = "info", [LOG_WARNING] = "warning", [LOG_ERROR] = "error"};

static const char *log_program = "sluice";
static LogLevel log_level = LOG_INFO;
static int log_descriptor = STDERR_FILENO;
static uint64_t dropped_count;

/* Held between poll() and write(), so that no other thread takes the room that poll() saw. */
static Mutex write_mutex = MUTEX_INITIALIZER;

void
log_init(const char *program, LogLevel level, int descriptor)
{
    assert(program != NULL);

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

/* Whole lines that this thread holds back, never more than one write takes. */
static _Thread_local struct {
    bool is_holding;
    size_t size;
    size_t line_count;
    char bytes[LOG_LINE_SIZE];
} held;

/* Writes lines, or counts them as dropped. A pipe is writable when PIPE_BUF bytes fit, so that a write
 * after poll() does not block. */
static void
lines_send(const char *bytes, size_t size, size_t line_count)
{
    struct pollfd target = {.fd = log_descriptor, .events = POLLOUT};
    mutex_lock(&write_mutex);
    bool is_sent = poll(&target, 1, 0) == 1 && (target.revents & POLLOUT) != 0 &&
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
    assert(message != NULL);
    assert((size_t)level < COUNT_OF(level_names));

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
    assert(call != NULL);

    const Error *error = &call->error;
    log_event(level, message, log_text("request_id", call->request_id),
        log_text("code", status_name(error->code)), log_text("error", error->message),
        log_text("file", error->file), log_integer("line", error->line));
}

uint64_t
log_dropped_count(void)
{
    return atomic_load_relaxed(&dropped_count);
}
