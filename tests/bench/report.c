#include "tests/bench/report.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

void
series_add(Series *series, double value)
{
    assert(series->count < SERIES_ROUNDS_MAX);
    series->values[series->count++] = value;
}

static int
compare_values(const void *left, const void *right)
{
    double first = *(const double *)left;
    double second = *(const double *)right;
    return (first > second) - (first < second);
}

static Series
sorted(const Series *series)
{
    Series copy = *series;
    qsort(copy.values, copy.count, sizeof copy.values[0], compare_values);
    return copy;
}

double
series_median(const Series *series)
{
    Series copy = sorted(series);
    return copy.count == 0 ? 0 : (copy.values[(copy.count - 1) / 2] + copy.values[copy.count / 2]) / 2;
}

void
report_series(const char *name, const Series *series, const char *unit, const char *goal)
{
    Series copy = sorted(series);
    if (copy.count == 0) {
        report_note(name, "not measured");
        return;
    }
    (void)printf("%s\t%.6g\t%s\t%.6g\t%.6g\t%s\n", name, series_median(series), unit, copy.values[0],
        copy.values[copy.count - 1], goal);
    (void)fflush(stdout);
}

void
report_value(const char *name, double value, const char *unit, const char *goal)
{
    Series series = {.values = {value}, .count = 1};
    report_series(name, &series, unit, goal);
}

static int
compare_times(const void *left, const void *right)
{
    uint64_t first = *(const uint64_t *)left;
    uint64_t second = *(const uint64_t *)right;
    return (first > second) - (first < second);
}

void
report_times(const char *name, uint64_t *times_ns, size_t count)
{
    if (count == 0) {
        report_note(name, "not measured");
        return;
    }
    qsort(times_ns, count, sizeof times_ns[0], compare_times);
    const struct {
        const char *what;
        size_t index;
    } rows[] = {{"p50", count / 2}, {"p99", count * 99 / 100}, {"longest", count - 1}};
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        char text[128];
        (void)snprintf(text, sizeof text, "%s: %s", name, rows[row].what);
        report_value(text, (double)times_ns[rows[row].index] * 1e-3, "us", "");
    }
}

void
report_note(const char *name, const char *note)
{
    (void)printf("%s\t%s\n", name, note);
    (void)fflush(stdout);
}
