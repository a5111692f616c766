#include "shared/telemetry/metrics.h"

#include <assert.h>
#include <stdio.h>

#include "shared/base/atomic.h"

const int64_t metric_step_bounds_us[METRIC_STEP_BOUND_COUNT] = {
    100, 250, 500, 1000, 2500, 5000, 10000, 25000, 100000, 500000, 2500000, 10000000, 60000000};

/* Returns this thread's row. Threads take rows in turn, so that as many as there are rows never share one. */
static int64_t *
own_row(const Metric *metric)
{
    static unsigned thread_count;
    static _Thread_local unsigned own; /* 0: not chosen yet */
    if (own == 0) {
        own = atomic_fetch_add_relaxed(&thread_count, 1) % METRIC_SHARDS + 1;
    }
    return metric->cells + (own - 1) * metric->stride;
}

void
metric_add(const Metric *metric, size_t series, int64_t amount)
{
    assert(series < metric->stride);
    (void)atomic_fetch_add_relaxed(&own_row(metric)[series], amount);
}

void
metric_set(const Metric *metric, size_t series, int64_t value)
{
    assert(series < metric->stride && metric->kind == METRIC_GAUGE);
    atomic_store_relaxed(&metric->cells[series], value);
}

void
metric_observe(const Metric *metric, size_t series, int64_t value)
{
    size_t width = metric->bound_count + 2;
    assert(metric->kind == METRIC_HISTOGRAM && (series + 1) * width <= metric->stride);

    size_t bucket = 0;
    while (bucket < metric->bound_count && value > metric->bounds[bucket]) {
        bucket++;
    }
    int64_t *cells = own_row(metric) + series * width;
    (void)atomic_fetch_add_relaxed(&cells[bucket], 1);
    (void)atomic_fetch_add_relaxed(&cells[metric->bound_count + 1], value);
}

static int64_t
cell_sum(const Metric *metric, size_t cell)
{
    int64_t sum = 0;
    for (size_t row = 0; row < METRIC_SHARDS; row++) {
        sum += atomic_load_relaxed(&metric->cells[row * metric->stride + cell]);
    }
    return sum;
}

int64_t
metric_value(const Metric *metric, size_t series)
{
    if (metric->read != NULL) {
        return metric->read(series);
    }
    if (metric->kind != METRIC_HISTOGRAM) {
        return cell_sum(metric, series);
    }
    int64_t count = 0;
    for (size_t bucket = 0; bucket <= metric->bound_count; bucket++) {
        count += cell_sum(metric, series * (metric->bound_count + 2) + bucket);
    }
    return count;
}

typedef struct Series {
    const Metric *metric;
    size_t index;
    const char *values[METRIC_LABELS_MAX]; /* NULL: the metric has no such label */
} Series;

static const char *
label_value(const MetricLabel *label, size_t index)
{
    return label->value_at != NULL ? label->value_at(index) : label->values[index];
}

static size_t
label_count(const MetricLabel *label)
{
    return label->name == NULL ? 1 : label->value_count;
}

static void
append_escaped(Buffer *buffer, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\n') {
            buffer_append_string(buffer, "\\n");
            continue;
        }
        if (*text == '\\' || *text == '"') {
            buffer_append_byte(buffer, '\\');
        }
        buffer_append_byte(buffer, *text);
    }
}

/* Writes name_suffix{first="…",second="…",le="…"} and a space. */
static void
append_name(Buffer *buffer, const Series *series, const char *suffix, const char *bound)
{
    char separator = '{';
    buffer_append_string(buffer, series->metric->name);
    buffer_append_string(buffer, suffix);
    for (size_t index = 0; index < METRIC_LABELS_MAX; index++) {
        if (series->values[index] != NULL) {
            buffer_append_format(buffer, "%c%s=\"", separator, series->metric->labels[index].name);
            append_escaped(buffer, series->values[index]);
            buffer_append_byte(buffer, '"');
            separator = ',';
        }
    }
    if (bound != NULL) {
        buffer_append_format(buffer, "%cle=\"%s\"", separator, bound);
        separator = ',';
    }
    buffer_append_string(buffer, separator == ',' ? "} " : " ");
}

static double
scaled(const Metric *metric, int64_t value)
{
    return (double)value * (metric->scale > 0 ? metric->scale : 1);
}

static void
write_histogram(Buffer *buffer, const Series *series)
{
    const Metric *metric = series->metric;
    size_t start = series->index * (metric->bound_count + 2);
    int64_t count = 0;
    for (size_t bucket = 0; bucket <= metric->bound_count; bucket++) {
        char bound[32] = "+Inf";
        if (bucket < metric->bound_count) {
            (void)snprintf(bound, sizeof bound, "%.9g", scaled(metric, metric->bounds[bucket]));
        }
        count += cell_sum(metric, start + bucket);
        append_name(buffer, series, "_bucket", bound);
        buffer_append_int64(buffer, count);
        buffer_append_byte(buffer, '\n');
    }
    append_name(buffer, series, "_sum", NULL);
    buffer_append_format(
        buffer, "%.15g\n", scaled(metric, cell_sum(metric, start + metric->bound_count + 1)));
    append_name(buffer, series, "_count", NULL);
    buffer_append_int64(buffer, count);
    buffer_append_byte(buffer, '\n');
}

static void
write_series(Buffer *buffer, const Series *series)
{
    const Metric *metric = series->metric;
    if (metric->kind == METRIC_HISTOGRAM) {
        write_histogram(buffer, series);
        return;
    }
    append_name(buffer, series, "", NULL);
    int64_t value = metric_value(metric, series->index);
    if (metric->scale > 0) {
        buffer_append_format(buffer, "%.15g\n", scaled(metric, value));
    } else {
        buffer_append_int64(buffer, value);
        buffer_append_byte(buffer, '\n');
    }
}

static void
write_metric(Buffer *buffer, const Metric *metric)
{
    static const char *const kind_names[] = {
        [METRIC_COUNTER] = "counter",
        [METRIC_GAUGE] = "gauge",
        [METRIC_HISTOGRAM] = "histogram",
        [METRIC_READ] = "gauge",
    };
    buffer_append_format(buffer, "# HELP %s %s\n# TYPE %s %s\n", metric->name, metric->help, metric->name,
        kind_names[metric->kind]);
    size_t second_count = label_count(&metric->labels[1]);
    size_t series_count = label_count(&metric->labels[0]) * second_count;
    for (size_t index = 0; index < series_count; index++) {
        const size_t positions[METRIC_LABELS_MAX] = {index / second_count, index % second_count};
        Series series = {.metric = metric, .index = index};
        bool exists = true;
        for (size_t label = 0; label < METRIC_LABELS_MAX; label++) {
            if (metric->labels[label].name != NULL) {
                series.values[label] = label_value(&metric->labels[label], positions[label]);
                exists = exists && series.values[label] != NULL;
            }
        }
        if (exists) {
            write_series(buffer, &series);
        }
    }
}

void
metrics_write(const MetricTable *tables, size_t table_count, Buffer *buffer)
{
    for (size_t table = 0; table < table_count; table++) {
        for (size_t index = 0; index < tables[table].count; index++) {
            write_metric(buffer, tables[table].metrics[index]);
        }
    }
}
