/* Fuzzes plans: four lines — feeds, fetches, targets, and a letter for the policy with one for the number
 * of slots — and a GraphDef in JSON give a plan or an error. Partitions of a plan can be read and linked,
 * as a worker does first. */
#include <assert.h>

#include "gateway/plan/plan.h"
#include "shared/formats/graphdef_json.h"
#include "shared/ops/registry.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { NAMES_MAX = 8, ARENA_SIZE = 64 << 20 };

static size_t
read_names(Slice line, Slice *ret_names)
{
    size_t count = 0;
    while (line.size > 0 && count < NAMES_MAX && slice_split(&line, ' ', &ret_names[count])) {
        count++;
    }
    return count;
}

static PlanOptions
read_options(Slice line)
{
    unsigned policy = line.size > 0 ? (unsigned char)line.data[0] : 0;
    unsigned slots = line.size > 1 ? (unsigned char)line.data[1] : 0;
    return (PlanOptions){.placement = policy % 2 == 0 ? PLACEMENT_LOCAL : PLACEMENT_SPREAD,
        .slot_count = slots % PLAN_SLOT_COUNT_MAX + 1,
        .has_soft_placement = policy % 3 == 0};
}

static void
check_partitions(Call *call, const Plan *plan)
{
    for (size_t index = 0; index < plan->partition_count; index++) {
        AUTO_GRAPH_DEF def = NULL;
        AUTO_GRAPH graph = NULL;
        GraphLimits limits = {.node_count_max = SIZE_MAX, .allows_internal = true};
        Status read = graphdef_json_read(call, plan->partitions[index].document, &def);
        assert(read == STATUS_OK || read == STATUS_RESOURCE_EXHAUSTED);
        Status linked = read == STATUS_OK ? graph_link(call, def, op_find, limits, &graph) : STATUS_OK;
        assert(linked == STATUS_OK);
    }
}

static void
compile(Call *call, const Graph *graph, Slice lines[4])
{
    Slice names[3][NAMES_MAX];
    SignatureFeed feeds[NAMES_MAX];
    Signature given = {
        .feeds = feeds,
        .feed_count = read_names(lines[0], names[0]),
        .fetches = names[1],
        .fetch_count = read_names(lines[1], names[1]),
        .targets = names[2],
        .target_count = read_names(lines[2], names[2]),
        .options = read_options(lines[3]),
    };
    for (size_t index = 0; index < given.feed_count; index++) {
        feeds[index] = (SignatureFeed){.name = names[0][index], .shape = shape_unknown()};
    }
    Signature signature;
    AUTO_PLAN plan = NULL;
    if (signature_make(call, SLICE("g"), &given, &signature) != STATUS_OK) {
        return;
    }
    PlanRequest request = {.graph = graph, .signature = &signature};
    if (plan_compile(call, &request, &plan) == STATUS_OK) {
        check_partitions(call, plan);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_ARENA arena = arena_new(ARENA_SIZE);
    Call call = {.arena = arena};
    Slice rest = slice_of(data, size);
    Slice lines[4] = {{0}};
    for (size_t index = 0; index < COUNT_OF(lines); index++) {
        if (!slice_split(&rest, '\n', &lines[index])) {
            return 0;
        }
    }
    AUTO_GRAPH_DEF def = NULL;
    AUTO_GRAPH graph = NULL;
    if (graphdef_json_read(&call, rest, &def) == STATUS_OK &&
        graph_link(&call, def, op_find, (GraphLimits){0}, &graph) == STATUS_OK) {
        compile(&call, graph, lines);
    }
    return 0;
}
