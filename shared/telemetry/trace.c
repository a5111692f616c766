#include "shared/telemetry/trace.h"

#include "shared/base/random.h"

enum { FLAG_SAMPLED = 0x01, VERSION_INVALID = 0xff };

static bool
is_zero(const unsigned char *bytes, size_t size)
{
    unsigned char sum = 0;
    for (size_t index = 0; index < size; index++) {
        sum |= bytes[index];
    }
    return sum == 0;
}

static void
identity_new(unsigned char *ret_bytes, size_t size)
{
    do {
        random_bytes(ret_bytes, size);
    } while (is_zero(ret_bytes, size));
}

TraceContext
trace_new(bool is_sampled)
{
    TraceContext trace = {.is_sampled = is_sampled};
    identity_new(trace.trace_id, sizeof trace.trace_id);
    identity_new(trace.span_id, sizeof trace.span_id);
    return trace;
}

TraceContext
trace_child(const TraceContext *parent)
{
    TraceContext trace = *parent;
    identity_new(trace.span_id, sizeof trace.span_id);
    return trace;
}

static int
hex_value(char digit)
{
    if (digit >= '0' && digit <= '9') {
        return digit - '0';
    }
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

static bool
hex_read(const char *digits, size_t size, unsigned char *ret_bytes)
{
    for (size_t index = 0; index < size; index++) {
        int high = hex_value(digits[2 * index]);
        int low = hex_value(digits[2 * index + 1]);
        if (high < 0 || low < 0) {
            return false;
        }
        ret_bytes[index] = (unsigned char)(high << 4 | low);
    }
    return true;
}

static char *
hex_write(const unsigned char *bytes, size_t size, char *text)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t index = 0; index < size; index++) {
        *text++ = digits[bytes[index] >> 4];
        *text++ = digits[bytes[index] & 0x0f];
    }
    *text = '\0';
    return text;
}

bool
trace_parse(Slice text, TraceContext *ret_trace)
{
    enum { SIZE = TRACE_TEXT_SIZE - 1, TRACE_AT = 3, SPAN_AT = 36, FLAGS_AT = 53 };
    TraceContext trace;
    unsigned char version = 0;
    unsigned char flags = 0;
    bool has_form = text.size >= SIZE && text.data[TRACE_AT - 1] == '-' && text.data[SPAN_AT - 1] == '-' &&
                    text.data[FLAGS_AT - 1] == '-' && hex_read(text.data, 1, &version) &&
                    hex_read(text.data + TRACE_AT, TRACE_ID_SIZE, trace.trace_id) &&
                    hex_read(text.data + SPAN_AT, SPAN_ID_SIZE, trace.span_id) &&
                    hex_read(text.data + FLAGS_AT, 1, &flags);
    if (!has_form || version == VERSION_INVALID || is_zero(trace.trace_id, TRACE_ID_SIZE) ||
        is_zero(trace.span_id, SPAN_ID_SIZE)) {
        return false;
    }
    if (text.size > SIZE && (version == 0 || text.data[SIZE] != '-')) {
        return false;
    }
    trace.is_sampled = (flags & FLAG_SAMPLED) != 0;
    *ret_trace = trace;
    return true;
}

void
trace_format(const TraceContext *trace, char ret_text[TRACE_TEXT_SIZE])
{
    unsigned char version = 0;
    unsigned char flags = trace->is_sampled ? FLAG_SAMPLED : 0;
    char *text = hex_write(&version, 1, ret_text);
    *text++ = '-';
    text = hex_write(trace->trace_id, TRACE_ID_SIZE, text);
    *text++ = '-';
    text = hex_write(trace->span_id, SPAN_ID_SIZE, text);
    *text++ = '-';
    (void)hex_write(&flags, 1, text);
}

void
trace_id_format(const TraceContext *trace, char ret_text[TRACE_ID_TEXT_SIZE])
{
    (void)hex_write(trace->trace_id, TRACE_ID_SIZE, ret_text);
}
