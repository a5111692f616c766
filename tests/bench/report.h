/* Rows of measurements, of which tools/bench makes the table and build/bench.json. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { SERIES_ROUNDS_MAX = 32 };

/* One quantity over the rounds of a run. */
typedef struct Series {
    double values[SERIES_ROUNDS_MAX];
    size_t count;
} Series;

void series_add(Series *series, double value);
double series_median(const Series *series); /* 0 when there is none */

/* Prints "name<TAB>median<TAB>unit<TAB>lowest<TAB>highest<TAB>goal". `goal` is "< 250" or "> 0.7", "" for
 * none. */
void report_series(const char *name, const Series *series, const char *unit, const char *goal);
void report_value(const char *name, double value, const char *unit, const char *goal);

/* Prints rows of the median, the 99th percentile and the longest of the times, which it sorts. */
void report_times(const char *name, uint64_t *times_ns, size_t count);

/* Prints a row that says why there is no number. */
void report_note(const char *name, const char *note);
