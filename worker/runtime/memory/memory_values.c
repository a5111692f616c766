/* Steps: 1. a value for each output, or the value of the input that it passes on; 2. the readers of each
 * value; 3. the outputs that take over an input's memory. */
#include "worker/runtime/memory/memory_values.h"

#include "shared/base/memory.h"

typedef struct Finding {
    Arena *arena;
    const Partition *partition;
    const Flow *flow;
    const Shape *const *shapes;
    MemoryValue *values;
    uint32_t count;
    uint32_t *starts;
    uint32_t *outputs;
} Finding;

/* The source of an output's memory; OUTPUT_RULES has one for each kind of node. */
typedef enum OutputRule {
    OUTPUT_KERNEL, /* Kernel.sharing decides */
    OUTPUT_FED,
    OUTPUT_RECEIVED,
    OUTPUT_ELSEWHERE,
    OUTPUT_PASSED, /* shares the elements of an input */
} OutputRule;

static const OutputRule OUTPUT_RULES[] = {
    [SCHEDULE_KERNEL] = OUTPUT_KERNEL,
    [SCHEDULE_PROMISE] = OUTPUT_ELSEWHERE,
    [SCHEDULE_STATIC] = OUTPUT_ELSEWHERE,
    [SCHEDULE_CONST] = OUTPUT_ELSEWHERE,
    [SCHEDULE_ARG] = OUTPUT_FED,
    [SCHEDULE_RETVAL] = OUTPUT_ELSEWHERE,
    [SCHEDULE_SEND] = OUTPUT_ELSEWHERE,
    [SCHEDULE_RECV] = OUTPUT_RECEIVED,
    [SCHEDULE_SWITCH] = OUTPUT_PASSED,
    [SCHEDULE_MERGE] = OUTPUT_PASSED,
    [SCHEDULE_ENTER] = OUTPUT_PASSED,
    [SCHEDULE_EXIT] = OUTPUT_PASSED,
    [SCHEDULE_NEXT] = OUTPUT_PASSED,
    [SCHEDULE_FORWARD] = OUTPUT_PASSED,
    [SCHEDULE_TRIGGER] = OUTPUT_ELSEWHERE,
    [SCHEDULE_NOTHING] = OUTPUT_ELSEWHERE,
};

static bool
is_handle(Dtype dtype)
{
    return dtype == DTYPE_RESOURCE || dtype == DTYPE_VARIANT;
}

/* Returns whether the node may keep an input after it has run. */
static bool
keeps_inputs(const ScheduleNode *node)
{
    if (node->kind != SCHEDULE_KERNEL) {
        return node->kind == SCHEDULE_RETVAL || node->kind == SCHEDULE_SEND || node->kind == SCHEDULE_PROMISE;
    }
    bool keeps = (node->node->op->flags & OP_STATEFUL) != 0;
    for (uint32_t i = 0; i < node->node->input_count && !keeps; i++) {
        keeps = is_handle(node->node->input_dtypes[i]) || node_input_is_reference(node->node, i);
    }
    for (uint32_t i = 0; i < node->node->output_count && !keeps; i++) {
        keeps = is_handle(node->node->output_dtypes[i]);
    }
    return keeps;
}

static uint32_t
value_of(const Finding *finding, Endpoint endpoint)
{
    return endpoint.node == NODE_NONE ? VALUE_NONE
                                      : finding->outputs[finding->starts[endpoint.node] + endpoint.port];
}

/* Returns the value of the input that an output passes on; VALUE_NONE when the output is a value of its
 * own. */
static uint32_t
passed_value(const Finding *finding, const ScheduleNode *node, uint32_t port)
{
    const Node *at = node->node;
    if (OUTPUT_RULES[node->kind] == OUTPUT_PASSED && (port == 0 || node->kind == SCHEDULE_SWITCH)) {
        uint32_t passed = VALUE_NONE;
        for (uint32_t i = 0; i < at->input_count && passed == VALUE_NONE; i++) {
            /* VALUE_NONE over a loop's back edge, whose source comes later in the order. */
            passed = value_of(finding, at->inputs[i]);
        }
        return passed;
    }
    bool passes = node->kind == SCHEDULE_KERNEL && node->kernel->sharing == KERNEL_PASSES &&
                  port < at->input_count && at->inputs[port].node != NODE_NONE &&
                  at->input_dtypes[port] == at->output_dtypes[port];
    return passes ? value_of(finding, at->inputs[port]) : VALUE_NONE;
}

static ValueKind
new_kind(const ScheduleNode *node, uint32_t port)
{
    OutputRule rule = OUTPUT_RULES[node->kind];
    if (rule == OUTPUT_FED || rule == OUTPUT_RECEIVED) {
        return rule == OUTPUT_FED ? VALUE_FED : VALUE_RECEIVED;
    }
    bool is_made = rule == OUTPUT_KERNEL && node->kernel->sharing != KERNEL_LENDS &&
                   !is_handle(node->node->output_dtypes[port]) && !node_output_is_reference(node->node, port);
    return is_made ? VALUE_NEW : VALUE_ELSEWHERE;
}

static uint32_t
add_value(Finding *finding, const ScheduleNode *node, uint32_t port)
{
    uint32_t id = node->node->id;
    const Shape *shape = &finding->shapes[id][port];
    Dtype dtype = node->node->output_dtypes[port];
    size_t size = 0;
    bool is_known = dtype_is_copyable(dtype) && shape_byte_size(shape, dtype, &size);
    finding->values[finding->count] = (MemoryValue){
        .kind = new_kind(node, port),
        .is_known = is_known,
        .node = id,
        .port = port,
        .from = VALUE_NONE,
        .size = (size + MEMORY_CACHE_LINE - 1) / MEMORY_CACHE_LINE * MEMORY_CACHE_LINE,
    };
    return finding->count++;
}

static void
find_values(Finding *finding)
{
    for (uint32_t position = 0; position < finding->partition->node_count; position++) {
        const ScheduleNode *node = &finding->partition->nodes[finding->flow->order[position]];
        for (uint32_t port = 0; port < node->node->output_count; port++) {
            uint32_t passed = passed_value(finding, node, port);
            finding->outputs[finding->starts[node->node->id] + port] =
                passed != VALUE_NONE ? passed : add_value(finding, node, port);
        }
    }
}

/* Returns how many inputs the node reads when it runs. A SCHEDULE_STATIC node, which was folded into a
 * constant or fused into another node, never runs. */
static uint32_t
read_count(const ScheduleNode *node)
{
    return node->kind == SCHEDULE_STATIC ? 0 : node->node->input_count;
}

static void
count_uses(const Finding *finding, const ScheduleNode *node)
{
    bool is_keeper = keeps_inputs(node);
    for (uint32_t i = 0; i < read_count(node); i++) {
        uint32_t value = value_of(finding, node->node->inputs[i]);
        if (value != VALUE_NONE) {
            finding->values[value].use_count++;
            finding->values[value].is_kept = finding->values[value].is_kept || is_keeper;
            finding->values[value].is_held =
                finding->values[value].is_held || (is_keeper && node->kind != SCHEDULE_SEND);
        }
    }
}

static bool
find_uses(const Finding *finding)
{
    size_t total = 0;
    for (uint32_t id = 0; id < finding->partition->node_count; id++) {
        count_uses(finding, &finding->partition->nodes[id]);
        total += read_count(&finding->partition->nodes[id]);
    }
    uint32_t *all = arena_alloc(finding->arena, (total + 1) * sizeof *all);
    uint32_t **rows = arena_alloc(finding->arena, (finding->count + 1) * sizeof *rows);
    if (all == NULL || rows == NULL) {
        return false;
    }
    uint32_t *next = all;
    for (uint32_t value = 0; value < finding->count; value++) {
        finding->values[value].uses = next;
        rows[value] = next;
        next += finding->values[value].use_count;
    }
    for (uint32_t id = 0; id < finding->partition->node_count; id++) {
        const ScheduleNode *node = &finding->partition->nodes[id];
        for (uint32_t i = 0; i < read_count(node); i++) {
            uint32_t value = value_of(finding, node->node->inputs[i]);
            if (value != VALUE_NONE) {
                *rows[value]++ = id;
            }
        }
    }
    return true;
}

/* A wish of a node: its output is to take over an input's memory, which is safe when the input's other
 * readers all come before that node. */
typedef struct Claim {
    uint32_t value;
    uint32_t from;
    uint32_t node;
} Claim;

static const Shape *
input_shape(const Finding *finding, const Node *node, uint32_t input)
{
    Endpoint from = node->inputs[input];
    return from.node == NODE_NONE ? NULL : &finding->shapes[from.node][from.port];
}

static int64_t
input_elements(const Finding *finding, const Node *node, uint32_t input)
{
    const Shape *shape = input < node->input_count ? input_shape(finding, node, input) : NULL;
    int64_t count = 0;
    return shape != NULL && shape_element_count(shape, &count) ? count : -1;
}

static bool
reads_once(const MemoryValue *value, uint32_t node)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < value->use_count; i++) {
        count += value->uses[i] == node;
    }
    return count == 1;
}

/* Finds the input whose memory the node's first output may take over, as kernel_forward() is used: the
 * first input, or the second when that has more elements. False when there is none. */
static bool
find_claim(const Finding *finding, const ScheduleNode *node, Claim *ret_claim)
{
    const Node *at = node->node;
    if (node->kind != SCHEDULE_KERNEL || node->kernel->sharing != KERNEL_FORWARDS || at->input_count == 0) {
        return false;
    }
    uint32_t input = input_elements(finding, at, 0) < input_elements(finding, at, 1) ? 1 : 0;
    uint32_t from = value_of(finding, at->inputs[input]);
    int64_t elements = 0;
    *ret_claim = (Claim){.value = finding->outputs[finding->starts[at->id]], .from = from, .node = at->id};
    return from != VALUE_NONE && at->input_dtypes[input] == at->output_dtypes[0] &&
           finding->values[from].kind != VALUE_ELSEWHERE && finding->values[from].is_known &&
           !finding->values[from].is_kept && finding->values[from].use_count <= FLOW_SWEEP_MAX &&
           shape_element_count(&finding->shapes[at->id][0], &elements) &&
           elements == input_elements(finding, at, input) && elements > 0 &&
           reads_once(&finding->values[from], at->id);
}

static bool
is_direct(const Flow *flow, uint32_t before, uint32_t node)
{
    for (uint32_t i = flow->starts[node]; i < flow->starts[node + 1]; i++) {
        if (flow->before[i] == before) {
            return true;
        }
    }
    return false;
}

/* Returns whether every other reader of the claimed value comes before the claiming node in any order: as
 * its direct predecessor, or as the sweep, which has run, has found. */
static bool
claim_holds(const Finding *finding, const FlowSweep *sweep, const Claim *claim)
{
    const MemoryValue *from = &finding->values[claim->from];
    bool holds = true;
    for (uint32_t i = 0; i < from->use_count && holds; i++) {
        uint32_t use = from->uses[i];
        holds = use == claim->node || is_direct(finding->flow, use, claim->node) ||
                (sweep->bits[use] != 0 && (sweep->before[claim->node] & flow_sweep_bit(sweep, use)) != 0);
    }
    return holds;
}

static bool
claim_mark(const Finding *finding, FlowSweep *sweep, const Claim *claim)
{
    const MemoryValue *from = &finding->values[claim->from];
    bool is_marked = true;
    for (uint32_t i = 0; i < from->use_count && is_marked; i++) {
        uint32_t use = from->uses[i];
        is_marked =
            use == claim->node || is_direct(finding->flow, use, claim->node) || flow_sweep_mark(sweep, use);
    }
    return is_marked;
}

static void
settle_claims(Finding *finding, FlowSweep *sweep, const Claim *claims, uint32_t count)
{
    if (sweep->marked_count > 0) {
        flow_sweep_run(sweep);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (claim_holds(finding, sweep, &claims[i])) {
            finding->values[claims[i].value].from = claims[i].from;
        }
    }
    flow_sweep_clear(sweep);
}

static bool
find_forwards(Finding *finding)
{
    uint32_t node_count = finding->partition->node_count;
    Claim *claims = arena_alloc(finding->arena, ((size_t)node_count + 1) * sizeof *claims);
    FlowSweep sweep;
    uint32_t count = 0;
    if (claims == NULL || !flow_sweep_new(finding->arena, finding->flow, &sweep)) {
        return false;
    }
    for (uint32_t id = 0; id < node_count; id++) {
        if (!find_claim(finding, &finding->partition->nodes[id], &claims[count])) {
            continue;
        }
        if (!claim_mark(finding, &sweep, &claims[count])) {
            Claim last = claims[count];
            settle_claims(finding, &sweep, claims, count);
            claims[0] = last;
            count = 0;
            (void)claim_mark(finding, &sweep, &claims[0]);
        }
        count++;
    }
    settle_claims(finding, &sweep, claims, count);
    return true;
}

bool
memory_values_find(Arena *arena, const Partition *partition, const Flow *flow, const Shape *const *shapes,
    MemoryValues *ret_values)
{
    uint32_t node_count = partition->node_count;
    Finding finding = {.arena = arena, .partition = partition, .flow = flow, .shapes = shapes};
    finding.starts = arena_alloc(arena, ((size_t)node_count + 1) * sizeof *finding.starts);
    for (uint32_t id = 0; finding.starts != NULL && id < node_count; id++) {
        finding.starts[id + 1] = finding.starts[id] + partition->nodes[id].node->output_count;
    }
    size_t output_count = finding.starts == NULL ? 0 : finding.starts[node_count];
    finding.outputs = arena_alloc(arena, (output_count + 1) * sizeof *finding.outputs);
    finding.values = arena_alloc(arena, (output_count + 1) * sizeof *finding.values);
    if (finding.starts == NULL || finding.outputs == NULL || finding.values == NULL) {
        return false;
    }
    memset(finding.outputs, 0xff, output_count * sizeof *finding.outputs);
    find_values(&finding);
    bool is_found = find_uses(&finding) && find_forwards(&finding);
    *ret_values = (MemoryValues){.values = finding.values,
        .count = finding.count,
        .starts = finding.starts,
        .outputs = finding.outputs};
    return is_found;
}
