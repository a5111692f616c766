#include "worker/serve/run_trace.h"

#include <stdio.h>
#include <stdlib.h>

#include "shared/base/map.h"
#include "shared/base/memory.h"
#include "shared/wire/trace.h"
#include "worker/runtime/run/trace.h"

static int
longest_first(const void *left, const void *right)
{
    const WireTraceRow *a = left;
    const WireTraceRow *b = right;
    uint64_t a_ns = a->end_ns - a->start_ns;
    uint64_t b_ns = b->end_ns - b->start_ns;
    return (a_ns < b_ns) - (a_ns > b_ns);
}

static uint64_t
nanoseconds_since(uint64_t start_ns, uint64_t time_ns)
{
    return time_ns > start_ns ? time_ns - start_ns : 0;
}

static WireTraceRow
row_of(const NodeTrace *trace, uint64_t start_ns)
{
    return (WireTraceRow){
        .scheduled_ns = nanoseconds_since(start_ns, trace->scheduled_ns),
        .start_ns = nanoseconds_since(start_ns, trace->start_ns),
        .end_ns = nanoseconds_since(start_ns, trace->end_ns),
        .thread = trace->thread,
        .output_bytes = trace->output_bytes,
        .allocated_bytes = trace->allocated_bytes,
        .scratch_bytes = trace->scratch_bytes,
        .device_bytes = trace->device_bytes,
        .was_pulled = trace->was_pulled,
    };
}

/* Sizes of what is told of a run and of the functions called in it. */
typedef struct Counts {
    size_t nodes;
    size_t frames;
    size_t iterations;
    size_t rows;
} Counts;

static void
count_run(const Partition *partition, const RunTrace *run, Counts *counts)
{
    counts->nodes += partition_node_count(partition);
    counts->frames += partition_frame_count(partition);
    counts->iterations += run->count;
    for (const IterationTrace *at = run->root; at != NULL; at = at->next) {
        counts->rows += at->node_count;
    }
    for (const CallTrace *call = run->calls; call != NULL; call = call->next) {
        count_run(call->function, call->trace, counts);
    }
}

/* Makes a trace in one block of memory, with arrays for the nodes and frames of the partition and its
 * functions, and for the iterations and rows of the run. NULL without memory. */
static WireTrace *
wire_trace_new(const Partition *partition, const RunTrace *run)
{
    Counts counts = {0};
    count_run(partition, run, &counts);
    WireTrace *trace = memory_new(
        1, sizeof *trace + counts.rows * sizeof *trace->rows + counts.iterations * sizeof *trace->iterations +
               counts.nodes * sizeof *trace->nodes + counts.frames * sizeof *trace->frames);
    if (trace != NULL) {
        trace->rows = (WireTraceRow *)(void *)(trace + 1);
        trace->nodes = (WireTraceNode *)(void *)(trace->rows + counts.rows);
        trace->frames = (Slice *)(void *)(trace->nodes + counts.nodes);
        trace->iterations = (WireTraceIteration *)(void *)(trace->frames + counts.frames);
    }
    return trace;
}

enum { DEVICE_TEXT_SIZE = 32 };

typedef struct Telling {
    WireTrace *trace;
    char *accelerator; /* DEVICE_TEXT_SIZE: the name that all accelerated nodes share */
    uint64_t start_ns;
} Telling;

/* The place at which the nodes, frames and iterations of a run are told, behind those of its callers. */
typedef struct Place {
    uint32_t first_node;
    uint32_t first_frame;
    uint32_t first_iteration;
    uint32_t around; /* the iteration of the caller */
} Place;

static void
tell_nodes(const Telling *telling, const Partition *partition)
{
    WireTrace *trace = telling->trace;
    uint32_t count = partition_node_count(partition);
    for (uint32_t index = 0; index < count; index++) {
        PartitionNode node = partition_node(partition, index);
        bool is_accelerated = node.device != NULL && !device_is_host(node.device);
        trace->nodes[trace->node_count++] = (WireTraceNode){
            .name = node.name, .op = node.op, .key = node.key, .is_accelerated = is_accelerated};
        if (is_accelerated && trace->accelerator.size == 0) {
            (void)snprintf(
                telling->accelerator, DEVICE_TEXT_SIZE, "/device:%s:%d", node.device->type, node.device->id);
            trace->accelerator = slice_from_string(telling->accelerator);
        }
    }
    for (uint32_t index = 0; index < partition_frame_count(partition); index++) {
        trace->frames[trace->frame_count++] = partition_frame_name(partition, index);
    }
}

/* Returns the number under which a record's iteration is told. */
static uint32_t
iteration_of(const Place *place, const IterationTrace *record)
{
    return record->index == 0 ? place->around : place->first_iteration + record->index;
}

static void
tell_iteration(const Telling *telling, const Place *place, const IterationTrace *record)
{
    WireTrace *trace = telling->trace;
    if (record->around != NULL) {
        trace->iterations[trace->iteration_count++] = (WireTraceIteration){
            .frame = place->first_frame + record->frame,
            .around = iteration_of(place, record->around),
            .number = record->number,
        };
    }
    for (uint32_t cell = 0; cell < record->node_count; cell++) {
        if (record->nodes[cell].end_ns != 0) {
            WireTraceRow *row = &trace->rows[trace->row_count++];
            *row = row_of(&record->nodes[cell], telling->start_ns);
            row->node = place->first_node + record->numbers[cell];
            row->iteration = iteration_of(place, record);
        }
    }
}

/* Tells the records of a run, and behind them the functions that it called, whose nodes ran in the iteration
 * `around` that called them. */
static void
tell_run(const Telling *telling, const Partition *partition, const RunTrace *run, uint32_t around)
{
    WireTrace *trace = telling->trace;
    Place place = {
        .first_node = (uint32_t)trace->node_count,
        .first_frame = (uint32_t)trace->frame_count,
        .first_iteration = (uint32_t)trace->iteration_count,
        .around = around,
    };
    tell_nodes(telling, partition);
    trace->left_out_iteration_count += run->left_out_count;
    trace->left_out_count += run->lost_call_count;
    for (const IterationTrace *at = run->root; at != NULL; at = at->next) {
        tell_iteration(telling, &place, at);
    }
    for (const CallTrace *call = run->calls; call != NULL; call = call->next) {
        tell_run(telling, call->function, call->trace, iteration_of(&place, call->around));
    }
}

static int
longest_activity_first(const void *left, const void *right)
{
    const WireTraceActivity *a = left;
    const WireTraceActivity *b = right;
    uint64_t a_ns = a->end_ns - a->start_ns;
    uint64_t b_ns = b->end_ns - b->start_ns;
    return (a_ns < b_ns) - (a_ns > b_ns);
}

/* Returns the number of a text, which is told once. False without memory. */
static bool
tell_text(WireTrace *trace, Map *texts, const char *text, uint64_t *ret_number)
{
    Slice key = slice_from_string(text);
    const Slice *told = map_get(texts, key);
    if (told == NULL) {
        Slice *next = &trace->device_texts[trace->device_text_count];
        *next = key;
        if (!map_put(texts, key, next)) {
            return false;
        }
        trace->device_text_count++;
        told = next;
    }
    *ret_number = (uint64_t)(told - trace->device_texts);
    return true;
}

static bool
tell_activity(WireTrace *trace, Map *texts, const DeviceActivity *activity, uint64_t start_ns)
{
    WireTraceActivity *told = &trace->activities[trace->activity_count];
    uint32_t iteration = 0;
    *told = (WireTraceActivity){
        .start_ns = nanoseconds_since(start_ns, activity->start_ns),
        .end_ns = nanoseconds_since(start_ns, activity->end_ns),
        .bytes = activity->bytes,
        .captured = activity->captured,
    };
    told->has_node =
        trace_mark_read(activity->mark, &told->node, &iteration) && told->node < trace->node_count;
    told->iteration = told->has_node ? iteration : 0;
    for (size_t i = 0; i < COUNT_OF(told->grid); i++) {
        told->grid[i] = activity->grid[i];
        told->block[i] = activity->block[i];
    }
    return tell_text(trace, texts, activity->track, &told->track) &&
           tell_text(trace, texts, activity->name, &told->name);
}

/* Tells what the accelerator did in memory of `ret_memory`. Without memory, only who would have told. */
static void
tell_device(WireTrace *trace, const DeviceReport *report, uint64_t start_ns, void **ret_memory)
{
    AUTO_MAP texts = map_new();
    size_t count = report->activity_count;
    size_t size = count * (sizeof(WireTraceActivity) + 2 * sizeof(Slice));
    void *memory = count == 0 ? NULL : memory_new(1, size);
    trace->device_source = slice_from_string(report->source);
    trace->device_left_out_count = report->lost_count;
    *ret_memory = memory;
    if (memory == NULL || texts == NULL) {
        trace->device_left_out_count += count;
        return;
    }
    trace->activities = memory;
    trace->device_texts = (Slice *)(void *)(trace->activities + count);
    while (trace->activity_count < count &&
           tell_activity(trace, texts, &report->activities[trace->activity_count], start_ns)) {
        trace->activity_count++;
    }
    trace->device_left_out_count += count - trace->activity_count;
    qsort(trace->activities, trace->activity_count, sizeof *trace->activities, longest_activity_first);
}

void
run_trace_write(Buffer *buffer, const Partition *partition, const RunStats *stats)
{
    if (stats->trace == NULL) {
        return;
    }
    char accelerator[DEVICE_TEXT_SIZE];
    AUTO_MEMORY void *memory = NULL;
    AUTO_MEMORY WireTrace *trace = wire_trace_new(partition, stats->trace);
    if (trace == NULL) {
        return;
    }
    Telling telling = {.trace = trace, .accelerator = accelerator, .start_ns = stats->start_ns};
    trace->elapsed_ns = stats->elapsed_ns;
    tell_run(&telling, partition, stats->trace, 0);
    tell_device(trace, &stats->trace->device, stats->start_ns, &memory);
    qsort(trace->rows, trace->row_count, sizeof *trace->rows, longest_first);
    wire_trace_write(buffer, trace);
}
