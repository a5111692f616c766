/* Numbers a program shows of itself, in Prometheus' text format. A metric is a static object; adding to it is
 * one relaxed atomic add to a line of memory that few threads share. Labels have closed sets of values, so
 * that nothing outside can make the number of series grow.
 *
 *     static const char *const outcomes[] = {"succeeded", "failed"};
 *     METRIC_DEFINE(metric_steps, COUNT_OF(outcomes), .name = "sluice_steps_total", .kind = METRIC_COUNTER,
 *         .help = "Steps ended, by outcome.", .labels = {METRIC_LABEL("outcome", outcomes)});
 *     …
 *     metric_add(&metric_steps, OUTCOME_FAILED, 1);
 *
 * Ownership: static storage; nothing is freed.
 * Threads:   any, without locks. A reader sees each number at some moment, not all at the same. */
#pragma once

#include <stdalign.h>

#include "shared/base/buffer.h"
#include "shared/base/memory.h"

typedef enum MetricKind {
    METRIC_COUNTER,   /* only grows; the name ends in _total. With `read`, somebody else counts */
    METRIC_GAUGE,     /* metric_set() or metric_add(), not both on one metric */
    METRIC_HISTOGRAM, /* metric_observe() */
    METRIC_READ,      /* a gauge that `read` answers when asked */
} MetricKind;

typedef struct MetricLabel {
    const char *name;
    const char *const *values;
    size_t value_count;
    /* Replaces `values` where they are known only when the program is linked; NULL: no such series. */
    const char *(*value_at)(size_t index);
} MetricLabel;

#define METRIC_LABEL(label_name, label_values)                                                               \
    {                                                                                                        \
        .name = (label_name), .values = (label_values), .value_count = COUNT_OF(label_values)                \
    }

enum { METRIC_SHARDS = 8, METRIC_LABELS_MAX = 2, METRIC_CELLS_A_LINE = MEMORY_CACHE_LINE / sizeof(int64_t) };

typedef struct Metric {
    const char *name;
    MetricKind kind;
    const char *help;
    MetricLabel labels[METRIC_LABELS_MAX];
    const int64_t *bounds; /* HISTOGRAM: upper bounds, ascending, in the unit observed */
    size_t bound_count;
    double scale;                   /* observed unit to shown unit: 1e-6 from µs to seconds; 0 means 1 */
    int64_t (*read)(size_t series); /* READ, or a COUNTER without cells */
    int64_t *cells;                 /* METRIC_SHARDS rows of `stride` */
    size_t stride;
} Metric;

/* `series_count` is the product of the labels' value counts, 1 without labels. */
#define METRIC_STRIDE(cell_count)                                                                            \
    (((size_t)(cell_count) + METRIC_CELLS_A_LINE - 1) / METRIC_CELLS_A_LINE * METRIC_CELLS_A_LINE)
#define METRIC_CELLS_DEFINE(variable, series_count)                                                          \
    static alignas(MEMORY_CACHE_LINE)                                                                        \
        int64_t variable##_cells[(size_t)METRIC_SHARDS * METRIC_STRIDE(series_count)]
#define METRIC_INITIALISER(variable, series_count, ...)                                                      \
    {                                                                                                        \
        .cells = variable##_cells, .stride = METRIC_STRIDE(series_count), __VA_ARGS__                        \
    }

#define METRIC_DEFINE(variable, series_count, ...)                                                           \
    METRIC_CELLS_DEFINE(variable, series_count);                                                             \
    static const Metric variable = METRIC_INITIALISER(variable, series_count, __VA_ARGS__)

/* Defines a metric that other files count, too: a header declares it. */
#define METRIC_SHARED_DEFINE(variable, series_count, ...)                                                    \
    METRIC_CELLS_DEFINE(variable, series_count);                                                             \
    const Metric variable = METRIC_INITIALISER(variable, series_count, __VA_ARGS__)

/* A series of a histogram holds a count for each bound, one for the values above, and the sum. */
#define METRIC_HISTOGRAM_DEFINE(variable, series_count, bounds_, ...)                                        \
    METRIC_DEFINE(variable, (size_t)(series_count) * (COUNT_OF(bounds_) + 2), .kind = METRIC_HISTOGRAM,      \
        .bounds = (bounds_), .bound_count = COUNT_OF(bounds_), __VA_ARGS__)

/* Bounds for the times of steps: from a tenth of a millisecond to a minute. */
enum { METRIC_STEP_BOUND_COUNT = 13 };
extern const int64_t metric_step_bounds_us[METRIC_STEP_BOUND_COUNT];

typedef struct MetricTable {
    const Metric *const *metrics;
    size_t count;
} MetricTable;

/* Returns the series of two labels' values, to be passed as `series`. */
static inline size_t
metric_series(const Metric *metric, size_t first, size_t second)
{
    return first * metric->labels[1].value_count + second;
}

/* `series` is the label's value index, 0 without labels. */
void metric_add(const Metric *metric, size_t series, int64_t amount);
void metric_set(const Metric *metric, size_t series, int64_t value);
void metric_observe(const Metric *metric, size_t series, int64_t value);

/* Returns the value of a COUNTER, GAUGE or READ; of a HISTOGRAM the number of observations. */
int64_t metric_value(const Metric *metric, size_t series);

/* Writes text format 0.0.4, metrics in the tables' order. */
void metrics_write(const MetricTable *tables, size_t table_count, Buffer *buffer);
