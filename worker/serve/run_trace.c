#include "worker/serve/run_trace.h"

#include <stdlib.h>

#include "shared/base/memory.h"
#include "shared/wire/trace.h"

static int
longest_first(const void *left, const void *right)
{
    const WireTraceRow *const a = left;
    const WireTraceRow *const b = right;
    const uint64_t a_ns = a->end_ns - a->start_ns;
    const uint64_t b_ns = b->end_ns - b->start_ns;
    return (a_ns < b_ns) - (a_ns > b_ns);
}

static uint64_t
since(uint64_t start_ns, uint64_t time_ns)
{
    return time_ns > start_ns ? time_ns - start_ns : 0;
}

static WireTraceRow
row_of(const PartitionNode *node, const NodeTrace *trace, uint64_t start_ns)
{
    return (WireTraceRow){
        .name = node->name,
        .op = node->op,
        .key = node->key,
        .scheduled_ns = since(start_ns, trace->scheduled_ns),
        .start_ns = since(start_ns, trace->start_ns),
        .end_ns = since(start_ns, trace->end_ns),
        .thread = trace->thread,
        .output_bytes = trace->output_bytes,
    };
}

void
run_trace_write(Buffer *buffer, const Partition *partition, const RunStats *stats)
{
    const uint32_t node_count = partition_node_count(partition);
    if (stats->traces == NULL) {
        return;
    }
    AUTO_MEMORY WireTraceRow *rows = memory_new((size_t)node_count + 1, sizeof *rows);
    if (rows == NULL) {
        return;
    }
    WireTrace trace = {.elapsed_ns = stats->elapsed_ns, .rows = rows};
    for (uint32_t index = 0; index < node_count; index++) {
        if (stats->traces[index].end_ns != 0) {
            const PartitionNode node = partition_node(partition, index);
            rows[trace.row_count++] = row_of(&node, &stats->traces[index], stats->start_ns);
        }
    }
    qsort(rows, trace.row_count, sizeof *rows, longest_first);
    wire_trace_write(buffer, &trace);
}
