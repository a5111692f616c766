/* Shows on standard error that a request runs. On a terminal it is one line: a bar while bytes move, with
 * their rate and the time that is left, or a clock while an answer is awaited; it appears only after a
 * moment, so that quick requests show nothing. Elsewhere it is a plain line every few seconds, while bytes
 * move. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "shared/httpclient/http_client.h"

typedef struct Progress {
    const char *label; /* NULL: nothing is shown */
    bool is_plain;     /* standard error is no terminal */
    uint64_t begin_ns;
    uint64_t drawn_ns;    /* time of the last drawing; 0: never */
    uint64_t sent_before; /* by earlier requests, when several send one thing */
    uint64_t send_total;  /* of that thing; 0: a request is all */
    uint64_t rated_ns;    /* time when `rated` bytes had moved; 0: the rate is not known yet */
    uint64_t rated;
    double rate; /* bytes a second of late, smoothed */
} Progress;

Progress progress_begin(const char *label);

/* Draws the line when it is time: an HttpClientEvents.on_progress whose context is the Progress. */
void progress_show(void *context, const HttpClientProgress *transferred);

/* Says on a line of its own what keeps the request, which is tried again. */
void progress_say(Progress *progress, const char *text);

/* Clears the line. */
void progress_end(const Progress *progress);

/* Notes how many bytes have moved by now, for the rate. */
void progress_rate(Progress *progress, const HttpClientProgress *transferred, uint64_t now_ns);

/* Appends the line as it would be drawn, without the terminal's codes. */
void progress_write(
    const Progress *progress, const HttpClientProgress *transferred, uint64_t now_ns, Buffer *line);
