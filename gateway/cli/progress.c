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
    return (Progress){.label = is_terminal() ? label : NULL, .begin_ns = clock_monotonic_ns()};
}

static void
append_bar(Buffer *line, uint64_t done, uint64_t total)
{
    enum { WIDTH = 30, PERCENT = 100 };
    double share = (double)done / (double)total;
    int filled = (int)(share * WIDTH);
    buffer_append_string(line, " [");
    for (int index = 0; index < WIDTH; index++) {
        const char *mark = index < filled ? "=" : index == filled ? ">" : " ";
        buffer_append_string(line, mark);
    }
    buffer_append_format(line, "] %3d%%  ", (int)(share * PERCENT));
    screen_append_bytes(line, done);
    buffer_append_string(line, " of ");
    screen_append_bytes(line, total);
}

void
progress_write(const Progress *progress, const HttpClientProgress *transferred, uint64_t now_ns, Buffer *line)
{
    static const char wheel[] = "|/-\\";
    uint64_t elapsed_ns = now_ns - progress->begin_ns;
    screen_append(line, slice_from_string(progress->label));
    if (transferred->sent < transferred->send_total) {
        append_bar(line, transferred->sent, transferred->send_total);
    } else if (transferred->received > 0 && transferred->received < transferred->receive_total) {
        append_bar(line, transferred->received, transferred->receive_total);
    } else {
        uint64_t turn = elapsed_ns / (interval_ms * CLOCK_NS_PER_MS);
        buffer_append_format(line, ": waiting %c ", wheel[turn % (sizeof wheel - 1)]);
        screen_append_duration(line, elapsed_ns / CLOCK_NS_PER_US);
    }
}

void
progress_show(void *context, const HttpClientProgress *transferred)
{
    assert(context != NULL);
    Progress *progress = context;
    uint64_t now_ns = clock_monotonic_ns();
    uint64_t due_ns = progress->drawn_ns == 0 ? progress->begin_ns + first_ms * CLOCK_NS_PER_MS
                                              : progress->drawn_ns + interval_ms * CLOCK_NS_PER_MS;
    if (progress->label == NULL || now_ns < due_ns) {
        return;
    }
    AUTO_BUFFER line = {0};
    HttpClientProgress whole = *transferred;
    if (progress->send_total > 0) {
        whole.sent += progress->sent_before;
        whole.send_total = progress->send_total;
    }
    progress_write(progress, &whole, now_ns, &line);
    progress->drawn_ns = now_ns;
    (void)fprintf(stderr, "%s%.*s", clear_line, SLICE_PRINT(buffer_slice(&line)));
}

void
progress_end(const Progress *progress)
{
    if (progress->drawn_ns != 0) {
        (void)fputs(clear_line, stderr);
    }
}
