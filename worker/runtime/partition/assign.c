/* Chooses devices. The accelerator gets every node that it has a kernel for, except:
 *
 *   - nodes whose device the graph names otherwise;
 *   - nodes that read no elements (Identity, Reshape, Shape): the value stays where it lies;
 *   - unless the graph asks for the accelerator, nodes about shapes: small integers that something on the
 * host needs (the shape of a Reshape, the predicate of a loop), found backwards from there, or that follow
 * from such alone, found forwards. On the accelerator each would make the host wait for it (onnxruntime
 * #7427).
 *
 * Calls and functions hand floating tensors to each other there (Kernel.calls_functions), so that a loop
 * around a call copies none of them. The elements of a list lie where their dtype says, for all graphs of a
 * worker (Kernel.handles_list).
 *
 * Merge, Enter and NextIteration have a memory of their own: that of what a loop carries. It is found by
 * repetition, because a loop's value comes from the loop itself. A read of a variable gives its value out
 * where a kernel wants it. */
#include "worker/runtime/partition/stages.h"

#include <assert.h>

enum { SHAPE_ELEMENTS_MAX = 1024 };
static const size_t ASSIGNING_MAX = (size_t)1 << 30;

typedef struct Assigning {
    Call *call;
    Arena *arena; /* for what is needed here only: shapes take much */
    Partition *partition;
    Device *accelerator;
    const Kernel **kernels;     /* by node: the accelerator's, or NULL */
    const Shape *const *shapes; /* by node and port, as far as they are known; NULL: nothing is */
    bool *is_needed;            /* by node: the host needs its output to know a shape or what runs */
    uint32_t *queue;            /* nodes that were marked in is_needed, in that order */
    uint32_t queue_count;
} Assigning;

/* Returns whether an output is one of the inputs, wherever that lies. */
static bool
passes_port_on(const ScheduleNode *node, uint32_t port)
{
    if (node->kind == SCHEDULE_SWITCH || node->kind == SCHEDULE_EXIT) {
        return true;
    }
    return node->kind == SCHEDULE_KERNEL && device_is_host(node->device) &&
           node->kernel->sharing == KERNEL_PASSES && kernel_bit(node->kernel->any_inputs, port);
}

/* Returns whether the node gives out the value of a variable, in whatever memory it is wanted. */
static bool
reads_variable(const ScheduleNode *node)
{
    return node->kind == SCHEDULE_KERNEL && node->kernel->visits_variables &&
           node->kernel->sharing == KERNEL_LENDS;
}

static bool
is_in_memory_of_its_own(const ScheduleNode *node)
{
    return node->kind == SCHEDULE_MERGE || node->kind == SCHEDULE_ENTER || node->kind == SCHEDULE_NEXT ||
           reads_variable(node);
}

uint16_t
output_memory(const Partition *partition, Endpoint from)
{
    return from.node == NODE_NONE ? MEMORY_HOST : partition->nodes[from.node].memories[from.port];
}

/* Returns the memory of an input that the host reads, or hands to or from a function. */
static uint16_t
host_input_memory(const ScheduleNode *node, uint32_t input)
{
    return dtype_is_floating(node->node->input_dtypes[input]) ? node->floats_in : MEMORY_HOST;
}

static uint16_t
kernel_input_memory(const ScheduleNode *node, uint32_t input)
{
    if (device_is_host(node->device)) {
        return kernel_bit(node->kernel->any_inputs, input) ? MEMORY_ANY : host_input_memory(node, input);
    }
    return kernel_wants_host(node->kernel, node->node, input) ? MEMORY_HOST : node->device->memory_number;
}

typedef enum InputRule {
    READS_ON_HOST,
    READS_AS_KERNEL,   /* as its kernel says */
    READS_NOTHING,     /* passes it on */
    READS_OWN_MEMORY,  /* where its own output lies */
    READS_A_PREDICATE, /* passes input 0 on, reads input 1 on the host */
} InputRule;

static const InputRule INPUT_RULES[] = {
    [SCHEDULE_KERNEL] = READS_AS_KERNEL,
    [SCHEDULE_PROMISE] = READS_AS_KERNEL,
    [SCHEDULE_STATIC] = READS_NOTHING,
    [SCHEDULE_CONST] = READS_NOTHING,
    [SCHEDULE_ARG] = READS_NOTHING,
    [SCHEDULE_RETVAL] = READS_ON_HOST,
    [SCHEDULE_SEND] = READS_ON_HOST,
    [SCHEDULE_RECV] = READS_NOTHING,
    [SCHEDULE_SWITCH] = READS_A_PREDICATE,
    [SCHEDULE_MERGE] = READS_OWN_MEMORY,
    [SCHEDULE_ENTER] = READS_OWN_MEMORY,
    [SCHEDULE_EXIT] = READS_NOTHING,
    [SCHEDULE_NEXT] = READS_OWN_MEMORY,
    [SCHEDULE_FORWARD] = READS_ON_HOST,
    [SCHEDULE_TRIGGER] = READS_NOTHING,
    [SCHEDULE_NOTHING] = READS_NOTHING,
};

uint16_t
input_memory(const ScheduleNode *node, uint32_t input)
{
    Endpoint from = node->node->inputs[input];
    if (from.node == NODE_NONE || !dtype_is_copyable(node->node->input_dtypes[input]) ||
        node_input_is_reference(node->node, input)) {
        return MEMORY_ANY;
    }
    InputRule rule = INPUT_RULES[node->kind];
    if (rule == READS_AS_KERNEL) {
        return kernel_input_memory(node, input);
    }
    if (rule == READS_OWN_MEMORY) {
        return node->memories[0];
    }
    bool is_read = rule == READS_ON_HOST || (rule == READS_A_PREDICATE && input == 1);
    return is_read ? host_input_memory(node, input) : MEMORY_ANY;
}

/* The names that a gateway writes into a partition; a node without one leaves the choice to the worker. */
static const char HOST_NAME[] = "/device:CPU:0";
static const char ACCELERATOR_NAME[] = "/device:GPU:0";
static const char HAS_STRINGS[] = "it has strings";
static const char ONLY_HANDLES[] = "it computes nothing: it makes or names a resource";
static const char KEEPS_LIST[] = "it keeps a list, whose elements stay where they lie";
static const char HOST_STATE[] = "it works with a resource or a variable that lies on the host";
static const char NO_KERNEL[] = "the accelerator has no kernel for its types and attributes";

static bool
asks_for(const ScheduleNode *node, const char *device)
{
    return slice_equals_string(node->node->def->device, device);
}

/* Returns whether an input is the handle of a variable, or comes by reference. */
static bool
names_variable(const Node *node, uint32_t input)
{
    return node->inputs[input].node != NODE_NONE &&
           (node->input_dtypes[input] == DTYPE_RESOURCE || node_input_is_reference(node, input));
}

/* Returns whether the node changes variables that it has handles of: their elements go to where it runs. */
static bool
changes_variables(const ScheduleNode *scheduled)
{
    const Node *node = scheduled->node;
    bool has_handle = false;
    for (uint32_t i = 0; i < node->input_count && !has_handle; i++) {
        has_handle = names_variable(node, i);
    }
    return has_handle && scheduled->kernel->visits_variables && !reads_variable(scheduled);
}

static bool
is_element_input(const Node *node, uint32_t index)
{
    return node->inputs[index].node != NODE_NONE && dtype_is_copyable(node->input_dtypes[index]) &&
           !node_input_is_reference(node, index);
}

static bool
is_element_output(const Node *node, uint32_t index)
{
    return dtype_is_copyable(node->output_dtypes[index]) && !node_output_is_reference(node, index);
}

/* Returns whether all data of the node may lie in another memory than the host's: no strings, no handles but
 * of variables that it changes. */
static bool
has_plain_data(const ScheduleNode *scheduled)
{
    const Node *node = scheduled->node;
    bool has_variables = changes_variables(scheduled);
    for (uint32_t i = 0; i < node->input_count; i++) {
        bool is_variable = has_variables && names_variable(node, i);
        if (node->inputs[i].node != NODE_NONE && !is_variable && !is_element_input(node, i)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < node->output_count; i++) {
        if (!is_element_output(node, i) && !(has_variables && node_output_is_reference(node, i))) {
            return false;
        }
    }
    return node->output_count > 0 || has_variables;
}

/* Tells what of a node's data is not plain. */
static const char *
reason_of_data(const ScheduleNode *scheduled)
{
    const Node *node = scheduled->node;
    bool has_elements = false;
    bool has_strings = false;
    for (uint32_t i = 0; i < node->input_count; i++) {
        has_elements = has_elements || is_element_input(node, i);
        has_strings = has_strings || node->input_dtypes[i] == DTYPE_STRING;
    }
    for (uint32_t i = 0; i < node->output_count; i++) {
        has_elements =
            has_elements || (is_element_output(node, i) && !kernel_bit(scheduled->kernel->host_outputs, i));
        has_strings = has_strings || node->output_dtypes[i] == DTYPE_STRING;
    }
    return has_strings ? HAS_STRINGS : has_elements ? HOST_STATE : ONLY_HANDLES;
}

static bool
passes_values_on(const ScheduleNode *node)
{
    return node->kernel->sharing == KERNEL_PASSES && node->kernel->any_inputs != 0;
}

/* Returns whether the node is computed, and could be anywhere: it is no transfer, no control flow, reads
 * elements, and has neither strings nor handles. */
static bool
may_have_device(const ScheduleNode *node)
{
    return node->kind == SCHEDULE_KERNEL && node->kernel->any_inputs == 0 && has_plain_data(node);
}

/* Returns why the host computes a node, whatever kernels the accelerator has; NULL: nothing says so. */
static const char *
reason_of_kernel(const ScheduleNode *node)
{
    const Kernel *kernel = node->kernel;
    if (reads_variable(node)) {
        return "it gives out a variable's value, wherever that lies";
    }
    if (kernel->any_inputs != 0) {
        return "it reads no elements: what it passes on stays where it lies";
    }
    if (kernel->host_inputs == UINT32_MAX && kernel->host_outputs == UINT32_MAX) {
        return "it computes shapes of shapes";
    }
    return asks_for(node, HOST_NAME) ? "the graph asks for the CPU" : NULL;
}

/* Finds the accelerator's kernel for a node; NULL, with the reason in the node, when the host computes it. */
static const Kernel *
find_candidate(const Assigning *assigning, ScheduleNode *node)
{
    if (node->kind == SCHEDULE_PROMISE) {
        node->reason = "it computes nothing, and waits for what does";
        return NULL;
    }
    if (node->kind != SCHEDULE_KERNEL) {
        return NULL;
    }
    if (node->kernel->handles_list) {
        const Kernel *of_lists = kernel_find(assigning->accelerator, node->node);
        node->reason = of_lists == NULL ? KEEPS_LIST : NULL;
        return of_lists;
    }
    node->reason = reason_of_kernel(node);
    if (node->reason != NULL) {
        return NULL;
    }
    bool is_plain = has_plain_data(node);
    const Kernel *kernel = is_plain ? kernel_find(assigning->accelerator, node->node) : NULL;
    if (kernel == NULL) {
        node->lacks_kernel = is_plain && !changes_variables(node);
        node->reason = node->lacks_kernel ? NO_KERNEL : reason_of_data(node);
    }
    return kernel;
}

/* Finds the candidates. A node that asks for the accelerator must get it, as in TensorFlow without soft
 * placement; what is not computed at all (transfers, control flow) and what holds no numbers (variables) may
 * stand beside such nodes under one request. */
static Status
find_candidates(Assigning *assigning)
{
    for (uint32_t id = 0; id < assigning->partition->node_count; id++) {
        ScheduleNode *node = &assigning->partition->nodes[id];
        assigning->kernels[id] = find_candidate(assigning, node);
        if (node->reason == NO_KERNEL && asks_for(node, ACCELERATOR_NAME)) {
            return call_fail(assigning->call, STATUS_INVALID_ARGUMENT,
                "node '%.*s' asks for '%s', which has no kernel of '%.*s' for its types and attributes; with "
                "\"soft_placement\" the session would run it on the CPU",
                SLICE_PRINT(node->node->name), ACCELERATOR_NAME, SLICE_PRINT(node->node->def->op));
        }
    }
    return STATUS_OK;
}

static bool
is_about_shapes(Dtype dtype)
{
    return dtype_is_integer(dtype) || dtype == DTYPE_BOOL;
}

/* Returns whether an output is known to be large; an unknown size counts as small. */
static bool
is_large(const Assigning *assigning, Endpoint output)
{
    int64_t count = 0;
    return assigning->shapes != NULL &&
           shape_element_count(&assigning->shapes[output.node][output.port], &count) &&
           count > SHAPE_ELEMENTS_MAX;
}

static bool
is_known_small(const Assigning *assigning, Endpoint output)
{
    int64_t count = 0;
    return assigning->shapes != NULL &&
           shape_element_count(&assigning->shapes[output.node][output.port], &count) &&
           count <= SHAPE_ELEMENTS_MAX;
}

/* Returns whether the node computes small integers of small integers, as far as its types tell. */
static bool
computes_shapes(const Assigning *assigning, const Node *node)
{
    for (uint32_t i = 0; i < node->output_count; i++) {
        if (!is_about_shapes(node->output_dtypes[i]) ||
            is_large(assigning, (Endpoint){.node = node->id, .port = i})) {
            return false;
        }
    }
    for (uint32_t i = 0; i < node->input_count; i++) {
        bool is_small_input =
            node->inputs[i].node == NODE_NONE ||
            (is_about_shapes(node->input_dtypes[i]) && !is_large(assigning, node->inputs[i])) ||
            is_known_small(assigning, node->inputs[i]);
        if (!is_small_input) {
            return false;
        }
    }
    return node->output_count > 0;
}

/* Marks the producer of an input that the host reads, if it is about shapes. */
static void
need_on_host(Assigning *assigning, const Node *node, uint32_t input)
{
    Endpoint from = node->inputs[input];
    if (from.node == NODE_NONE || assigning->is_needed[from.node] ||
        !is_about_shapes(node->input_dtypes[input]) || is_large(assigning, from)) {
        return;
    }
    assigning->is_needed[from.node] = true;
    assigning->queue[assigning->queue_count++] = from.node;
}

/* Returns whether the node reads an input on the host, be the node on the accelerator or not. */
static bool
is_host_argument(const Assigning *assigning, const ScheduleNode *node, uint32_t input)
{
    if (node->kind == SCHEDULE_KERNEL || node->kind == SCHEDULE_PROMISE) {
        const Kernel *kernel = assigning->kernels[node->node->id];
        return kernel_wants_host(kernel == NULL ? node->kernel : kernel, node->node, input);
    }
    return node->kind == SCHEDULE_FORWARD || (node->kind == SCHEDULE_SWITCH && input == 1);
}

static void
need_host_arguments(Assigning *assigning)
{
    for (uint32_t id = 0; id < assigning->partition->node_count; id++) {
        const ScheduleNode *node = &assigning->partition->nodes[id];
        for (uint32_t i = 0; i < node->node->input_count; i++) {
            if (is_host_argument(assigning, node, i)) {
                need_on_host(assigning, node->node, i);
            }
        }
    }
}

static void
keep_on_host(Assigning *assigning, ScheduleNode *node, const char *reason)
{
    if (assigning->kernels[node->node->id] != NULL && !asks_for(node, ACCELERATOR_NAME)) {
        assigning->kernels[node->node->id] = NULL;
        node->is_kept = true;
        node->reason = reason;
    }
}

/* Walks back from what the host needs: a candidate that computes shapes stays on the host, and then the host
 * needs its inputs; through other nodes a shape only passes. */
static void
keep_needed_shapes(Assigning *assigning)
{
    need_host_arguments(assigning);
    for (uint32_t next = 0; next < assigning->queue_count; next++) {
        ScheduleNode *node = &assigning->partition->nodes[assigning->queue[next]];
        bool is_candidate = assigning->kernels[node->node->id] != NULL;
        if (is_candidate && !computes_shapes(assigning, node->node)) {
            continue;
        }
        keep_on_host(assigning, node, "the host needs it to know a shape or what runs");
        for (uint32_t i = 0; i < node->node->input_count; i++) {
            need_on_host(assigning, node->node, i);
        }
    }
}

/* Returns whether an input will lie on the host: as far as is known before memories are found, which is all
 * but what loops carry. */
static bool
is_host_value(const Assigning *assigning, Endpoint from)
{
    if (from.node == NODE_NONE) {
        return true;
    }
    const ScheduleNode *node = &assigning->partition->nodes[from.node];
    return node->kind == SCHEDULE_STATIC ||
           (node->kind == SCHEDULE_KERNEL && assigning->kernels[from.node] == NULL &&
               !passes_values_on(node));
}

/* Goes forward over nodes that compute known small integers of such on the host. */
static void
keep_derived_shapes(Assigning *assigning)
{
    const Partition *partition = assigning->partition;
    for (uint32_t position = 0; position < partition->node_count; position++) {
        ScheduleNode *node = &partition->nodes[partition->graph->order[position]];
        bool is_derived =
            assigning->kernels[node->node->id] != NULL && computes_shapes(assigning, node->node);
        for (uint32_t i = 0; is_derived && i < node->node->input_count; i++) {
            is_derived = is_host_value(assigning, node->node->inputs[i]);
        }
        for (uint32_t i = 0; is_derived && i < node->node->output_count; i++) {
            is_derived = is_known_small(assigning, (Endpoint){.node = node->node->id, .port = i});
        }
        if (is_derived) {
            keep_on_host(assigning, node, "it follows from shapes on the host");
        }
    }
}

/* Gives the candidates that are left their device. Returns how many they are. */
static uint32_t
give_devices(const Assigning *assigning)
{
    uint32_t count = 0;
    for (uint32_t id = 0; id < assigning->partition->node_count; id++) {
        ScheduleNode *node = &assigning->partition->nodes[id];
        if (assigning->kernels[id] != NULL) {
            node->device = assigning->accelerator;
            node->kernel = assigning->kernels[id];
            node->kind = node->kernel->start == NULL ? node->kind : SCHEDULE_PROMISE;
            node->is_cheap = true;
            count++;
        }
    }
    return count;
}

static bool
is_call(const ScheduleNode *node)
{
    return node->kind == SCHEDULE_PROMISE && node->kernel->calls_functions;
}

static bool
has_floats(const Dtype *dtypes, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (dtype_is_floating(dtypes[i])) {
            return true;
        }
    }
    return false;
}

/* Has calls, and the Retvals of a function, hand floating tensors on in the accelerator's memory. Returns
 * whether any do, or whether such come into the function. */
static bool
hand_floats_there(const Assigning *assigning)
{
    const Partition *partition = assigning->partition;
    bool is_found = false;
    for (uint32_t id = 0; id < partition->node_count; id++) {
        ScheduleNode *node = &partition->nodes[id];
        bool is_end = partition->is_function && (node->kind == SCHEDULE_RETVAL || node->kind == SCHEDULE_ARG);
        if (is_call(node) || is_end) {
            node->floats_in = assigning->accelerator->memory_number;
            is_found = is_found || has_floats(node->node->input_dtypes, node->node->input_count) ||
                       has_floats(node->node->output_dtypes, node->node->output_count);
        }
    }
    return is_found;
}

/* Returns whether an output is made in the accelerator's memory: by a kernel there, or in a function. */
static bool
is_made_there(const Assigning *assigning, const ScheduleNode *node, uint32_t port)
{
    if (node->floats_in != MEMORY_HOST) {
        return dtype_is_floating(node->node->output_dtypes[port]) &&
               !node_output_is_reference(node->node, port);
    }
    return assigning->kernels[node->node->id] != NULL && is_element_output(node->node, port) &&
           !kernel_bit(node->kernel->host_outputs, port);
}

/* Sets the memories of what is made there; all other outputs begin on the host. */
static Status
place_outputs(const Assigning *assigning)
{
    Partition *partition = assigning->partition;
    size_t total = 0;
    for (uint32_t id = 0; id < partition->node_count; id++) {
        total += partition->nodes[id].node->output_count;
    }
    uint16_t *memories = arena_alloc(partition->arena, (total + 1) * sizeof *memories);
    if (memories == NULL) {
        return call_fail_memory(assigning->call, "the memories of a partition's tensors");
    }
    for (uint32_t id = 0; id < partition->node_count; id++) {
        ScheduleNode *node = &partition->nodes[id];
        node->memories = memories;
        memories += node->node->output_count;
        for (uint32_t port = 0; port < node->node->output_count; port++) {
            node->memories[port] =
                is_made_there(assigning, node, port) ? assigning->accelerator->memory_number : MEMORY_HOST;
        }
    }
    return STATUS_OK;
}

/* A reason why what an Enter or a NextIteration passes on belongs on the accelerator. */
typedef enum Pull {
    PULL_NONE,
    PULL_READER, /* a kernel there reads it: better copied before the loop than in every iteration */
    PULL_MERGE,  /* a Merge there takes it: a copy between them would hide the loop's edges from the executor
                  */
} Pull;

static Pull
pull_of(const ScheduleNode *reader)
{
    return reader->kind == SCHEDULE_MERGE ? PULL_MERGE : PULL_READER;
}

/* Returns whether an input is passed on as an output of the node. */
static bool
passes_input_on(const ScheduleNode *node, uint32_t input)
{
    bool is_output = node->kind == SCHEDULE_KERNEL ? input < node->node->output_count : input == 0;
    return is_output && passes_port_on(node, input);
}

/* Returns how an input is pulled: by the node, or by a reader of what the node passes on. */
static Pull
pull_of_input(const ScheduleNode *node, uint32_t input, const Pull *pulls)
{
    uint16_t wanted = input_memory(node, input);
    if (wanted != MEMORY_ANY && wanted != MEMORY_HOST) {
        return pull_of(node);
    }
    bool is_pulled_behind = passes_input_on(node, input) && pulls[node->node->id] != PULL_NONE;
    return is_pulled_behind ? PULL_READER : PULL_NONE;
}

/* Goes from readers to what they read. */
static void
find_pulls(const Assigning *assigning, Pull *pulls)
{
    const Partition *partition = assigning->partition;
    for (uint32_t position = partition->node_count; position-- > 0;) {
        const ScheduleNode *node = &partition->nodes[partition->graph->order[position]];
        for (uint32_t i = 0; i < node->node->input_count; i++) {
            uint32_t from = node->node->inputs[i].node;
            Pull pull = from == NODE_NONE ? PULL_NONE : pull_of_input(node, i, pulls);
            if (pull > PULL_NONE && pull > pulls[from]) {
                pulls[from] = pull;
            }
        }
    }
}

/* Returns whether the value of a Merge, Enter or NextIteration belongs on the accelerator: it comes from
 * there, or goes there. One about shapes goes there only if the loop's edges need it. */
static bool
belongs_on_accelerator(const Assigning *assigning, Pull pull, const ScheduleNode *node)
{
    const Partition *partition = assigning->partition;
    bool comes_from_loop = false;
    bool comes_from_there = false;
    for (uint32_t i = 0; i < node->node->input_count; i++) {
        bool is_there = output_memory(partition, node->node->inputs[i]) != MEMORY_HOST;
        ScheduleKind kind = partition->nodes[node->node->inputs[i].node].kind;
        comes_from_there = comes_from_there || is_there;
        comes_from_loop = comes_from_loop || (is_there && (kind == SCHEDULE_ENTER || kind == SCHEDULE_NEXT));
    }
    if (node->kind == SCHEDULE_MERGE && comes_from_loop) {
        return true;
    }
    if (node->kind != SCHEDULE_MERGE && pull == PULL_MERGE) {
        return true;
    }
    return !assigning->is_needed[node->node->id] &&
           (comes_from_there ||
               (pull == PULL_READER && (node->kind == SCHEDULE_ENTER || reads_variable(node))));
}

/* Passes memories on through one node. Returns whether anything has changed. */
static bool
pass_memories_on(const Assigning *assigning, const Pull *pulls, const ScheduleNode *node)
{
    const Partition *partition = assigning->partition;
    bool has_changed = false;
    if (is_in_memory_of_its_own(node)) {
        has_changed = node->memories[0] == MEMORY_HOST && is_element_output(node->node, 0) &&
                      belongs_on_accelerator(assigning, pulls[node->node->id], node);
        node->memories[0] = has_changed ? assigning->accelerator->memory_number : node->memories[0];
        return has_changed;
    }
    for (uint32_t port = 0; port < node->node->output_count; port++) {
        if (passes_port_on(node, port)) {
            Endpoint from = node->node->inputs[node->kind == SCHEDULE_KERNEL ? port : 0];
            uint16_t memory = output_memory(partition, from);
            has_changed = has_changed || node->memories[port] != memory;
            node->memories[port] = memory;
        }
    }
    return has_changed;
}

/* Finds the memories of what nodes pass on, in rounds over the graph until nothing changes: what a loop
 * carries depends on the loop itself. Values only ever leave the host, so that the rounds end. */
static Status
find_memories(const Assigning *assigning)
{
    const Partition *partition = assigning->partition;
    Pull *pulls = arena_alloc(assigning->arena, (partition->node_count + 1) * sizeof *pulls);
    if (pulls == NULL) {
        return call_fail_memory(assigning->call, "the memories of a partition's tensors");
    }
    bool has_changed = true;
    while (has_changed) {
        has_changed = false;
        find_pulls(assigning, pulls);
        for (uint32_t position = 0; position < partition->node_count; position++) {
            const ScheduleNode *node = &partition->nodes[partition->graph->order[position]];
            has_changed = pass_memories_on(assigning, pulls, node) || has_changed;
        }
    }
    return STATUS_OK;
}

/* Infers the shapes of all outputs; graphs whose shapes contradict each other fail when they run, as they do
 * without an accelerator. */
static void
infer_shapes(Assigning *assigning)
{
    Call call = {.arena = assigning->arena};
    if (graph_infer_shapes(&call, assigning->partition->graph, NULL, 0, &assigning->shapes) != STATUS_OK) {
        assigning->shapes = NULL;
    }
}

/* A gateway sends a node that asks for an accelerator to a worker that has one; by the time it comes, another
 * process without one may be in the worker's place. The gateway may try another worker then. */
static Status
refuse_requests(Call *call, const Partition *partition)
{
    for (uint32_t id = 0; id < partition->node_count; id++) {
        const ScheduleNode *node = &partition->nodes[id];
        if (asks_for(node, ACCELERATOR_NAME) && may_have_device(node)) {
            return call_fail(call, STATUS_UNAVAILABLE,
                "node '%.*s' asks for '%s', which this worker does not have", SLICE_PRINT(node->node->name),
                ACCELERATOR_NAME);
        }
    }
    return STATUS_OK;
}

Status
assign_devices(Call *call, Partition *partition)
{
    if (partition->accelerator == NULL) {
        return refuse_requests(call, partition);
    }
    assert(!device_is_host(partition->accelerator));
    AUTO_ARENA arena = arena_new(ASSIGNING_MAX);
    Assigning assigning = {
        .call = call, .arena = arena, .partition = partition, .accelerator = partition->accelerator};
    if (arena == NULL) {
        return call_fail_memory(call, "the devices of a partition's nodes");
    }
    size_t room = partition->node_count + (size_t)1;
    assigning.kernels = arena_alloc(arena, room * sizeof(const Kernel *));
    assigning.is_needed = arena_alloc(arena, room * sizeof(bool));
    assigning.queue = arena_alloc(arena, room * sizeof(uint32_t));
    if (assigning.kernels == NULL || assigning.is_needed == NULL || assigning.queue == NULL) {
        return call_fail_memory(call, "the devices of a partition's nodes");
    }
    infer_shapes(&assigning);
    TRY(find_candidates(&assigning));
    keep_needed_shapes(&assigning);
    keep_derived_shapes(&assigning);
    bool hands_floats = hand_floats_there(&assigning);
    if (give_devices(&assigning) == 0 && !hands_floats) {
        partition->accelerator = NULL;
        return STATUS_OK;
    }
    TRY(place_outputs(&assigning));
    return find_memories(&assigning);
}
