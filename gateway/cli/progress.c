#include "gateway/cli/progress.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gateway/cli/screen.h"
#include "shared/base/clock.h"

static const uint64_t first_ms = 300;
static const uint64_t interval_ms = 100;
static const uint64_t plain_interval_ms = 5000;
static const uint64_t rate_interval_ms = 500;
static const double rate_memory_s = 3; /* what is older counts less and less */
static const char clear_line[] = "\r\033[K";

static bool
is_terminal(void)
{
    const char *kind = getenv("TERM");
    return isatty(STDERR_FILENO) == 1 && (kind == NULL || strcmp(kind, "dumb") != 0);
}

Progress
progress_begin(const char *label)
{
    return (Progress){.label = label, .is_plain = !is_terminal(), .begin_ns = clock_monotonic_ns()};
}

/* The direction in which bytes move. */
typedef struct Movement {
    uint64_t done;
    uint64_t total; /* 0: none move */
} Movement;

static Movement
find_movement(const HttpClientProgress *transferred)
{
    if (transferred->sent < transferred->send_total) {
        return (Movement){transferred->sent, transferred->send_total};
    }
    if (transferred->received > 0 && transferred->received < transferred->receive_total) {
        return (Movement){transferred->received, transferred->receive_total};
    }
    return (Movement){0};
}

void
progress_rate(Progress *progress, const HttpClientProgress *transferred, uint64_t now_ns)
{
    Movement movement = find_movement(transferred);
    uint64_t passed_ns = now_ns - progress->rated_ns;
    if (progress->rated_ns == 0 || movement.done < progress->rated) {
        progress->rated_ns = now_ns;
        progress->rated = movement.done;
    } else if (movement.total > 0 && passed_ns >= rate_interval_ms * CLOCK_NS_PER_MS) {
        double passed_s = (double)passed_ns / (double)CLOCK_NS_PER_S;
        double rate = (double)(movement.done - progress->rated) / passed_s;
        double weight = progress->rate <= 0 ? 1 : passed_s / (passed_s + rate_memory_s);
        progress->rate += weight * (rate - progress->rate);
        progress->rated_ns = now_ns;
        progress->rated = movement.done;
    }
}

static void
append_amount(const Progress *progress, const Movement *movement, Buffer *line)
{
    enum { PERCENT = 100, SECONDS = 60 };
    buffer_append_format(line, "%3d%%  ", (int)((double)movement->done / (double)movement->total * PERCENT));
    screen_append_bytes(line, movement->done);
    buffer_append_string(line, " of ");
    screen_append_bytes(line, movement->total);
    if (progress->rate >= 1) {
        double left_s = (double)(movement->total - movement->done) / progress->rate;
        uint64_t seconds = left_s < (double)UINT32_MAX ? (uint64_t)(left_s + 1) : UINT32_MAX;
        buffer_append_string(line, "  ");
        screen_append_bytes(line, (uint64_t)progress->rate);
        buffer_append_format(line, "/s  %llu:%02llu left", (unsigned long long)(seconds / SECONDS),
            (unsigned long long)(seconds % SECONDS));
    }
}

static void
append_bar(const Movement *movement, Buffer *line)
{
    enum { WIDTH = 30 };
    int filled = (int)((double)movement->done / (double)movement->total * WIDTH);
    buffer_append_string(line, " [");
    for (int index = 0; index < WIDTH; index++) {
        const char *mark = index < filled ? "=" : index == filled ? ">" : " ";
        buffer_append_string(line, mark);
    }
    buffer_append_string(line, "] ");
}

void
progress_write(const Progress *progress, const HttpClientProgress *transferred, uint64_t now_ns, Buffer *line)
{
    static const char wheel[] = "|/-\\";
    uint64_t elapsed_ns = now_ns - progress->begin_ns;
    Movement movement = find_movement(transferred);
    screen_append(line, slice_from_string(progress->label));
    if (movement.total == 0) {
        uint64_t turn = elapsed_ns / (interval_ms * CLOCK_NS_PER_MS);
        buffer_append_format(line, ": waiting %c ", wheel[turn % (sizeof wheel - 1)]);
        screen_append_duration(line, elapsed_ns / CLOCK_NS_PER_US);
        return;
    }
    if (progress->is_plain) {
        buffer_append_string(line, ": ");
    } else {
        append_bar(&movement, line);
    }
    append_amount(progress, &movement, line);
}

/* Returns true when the line is to be drawn again. */
static bool
is_due(const Progress *progress, uint64_t now_ns)
{
    uint64_t pause_ms = progress->is_plain ? plain_interval_ms : interval_ms;
    uint64_t due_ns = progress->drawn_ns != 0 ? progress->drawn_ns + pause_ms * CLOCK_NS_PER_MS
                      : progress->is_plain    ? progress->begin_ns + plain_interval_ms * CLOCK_NS_PER_MS
                                              : progress->begin_ns + first_ms * CLOCK_NS_PER_MS;
    return now_ns >= due_ns;
}

void
progress_show(void *context, const HttpClientProgress *transferred)
{
    assert(context != NULL);
    Progress *progress = context;
    uint64_t now_ns = clock_monotonic_ns();
    HttpClientProgress whole = *transferred;
    AUTO_BUFFER line = {0};
    if (progress->label == NULL) {
        return;
    }
    if (progress->send_total > 0) {
        whole.sent += progress->sent_before;
        whole.send_total = progress->send_total;
    }
    progress_rate(progress, &whole, now_ns);
    if (!is_due(progress, now_ns) || (progress->is_plain && find_movement(&whole).total == 0)) {
        return;
    }
    progress_write(progress, &whole, now_ns, &line);
    progress->drawn_ns = now_ns;
    (void)fprintf(stderr, progress->is_plain ? "%s%.*s\n" : "%s%.*s", progress->is_plain ? "" : clear_line,
        SLICE_PRINT(buffer_slice(&line)));
}

void
progress_say(Progress *progress, const char *text)
{
    AUTO_BUFFER line = {0};
    screen_append(&line, slice_from_string(progress->label == NULL ? "waiting" : progress->label));
    buffer_append_string(&line, ": ");
    screen_append(&line, slice_from_string(text));
    buffer_append_string(&line, "; trying again");
    progress_end(progress);
    progress->drawn_ns = 0;
    progress->rated_ns = 0;
    progress->rate = 0;
    (void)fprintf(stderr, "%.*s\n", SLICE_PRINT(buffer_slice(&line)));
}

void
progress_end(const Progress *progress)
{
    if (progress->drawn_ns != 0 && !progress->is_plain) {
        (void)fputs(clear_line, stderr);
    }
}
