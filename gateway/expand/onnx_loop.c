/* ONNX's Loop and Scan, in one frame.
 *
 *     Loop: while (i < M && condition) body(i, condition, carried…) → (condition, carried…, collected…)
 *     Scan: body(states…, elements…) → (states…, collected…), for each position along the scanned axes
 *
 * The loop's variables, of which some lists may be empty: i; the condition of a Loop; the carried values,
 * which Scan calls states; the flow of each collection. Then those that stay the same: the limit of i, which
 * is M or the length of the scanned axis; the scanned tensors; the handles of the collections; the values
 * that the body takes from around it.
 *
 * A collected output is written into a TensorArray in each iteration, and stacked behind the loop. */
#include "gateway/expand/emission.h"
#include "gateway/expand/form.h"
#include "gateway/expand/loop.h"

/* One collected output. */
typedef struct Collection {
    Slice handle; /* of the TensorArray, outside of the loop */
    Slice flow;
    Dtype dtype;   /* declared by the body; DTYPE_INVALID: that of `value` */
    Shape element; /* as far as the body declares it */
    Slice value;   /* in the loop: what is collected */
} Collection;

typedef struct OnnxLoop {
    Scope *scope;
    Member *member;
    const FunctionDef *body;
    Endpoints inputs;   /* M and condition of a Loop, carried…, scanned…, captured… */
    size_t first_input; /* the first carried one */
    size_t carried_count;
    size_t scanned_count;
    size_t captured_count;
    bool has_limit;
    bool has_condition;
    Loop loop;
    size_t first_carried; /* positions among the loop's variables, by lay_out_variables() */
    size_t first_flow;
    size_t limit;
    size_t first_scanned;
    size_t first_handle;
    size_t first_captured;
    Collection *collections; /* the last outputs of the body */
    size_t collection_count;
    size_t first_collected; /* of the body's outputs */
} OnnxLoop;

static LoopVariable *
loop_variable(const OnnxLoop *self, size_t index)
{
    return &self->loop.variables[index];
}

/* The body's shape for an output, as far as it declares one. */
static Shape
declared_output_shape(const FunctionDef *function, size_t index)
{
    for (size_t attr = 0; attr < function->attr_count; attr++) {
        const AttrValue *value = &function->attrs[attr].value;
        if (slice_equals_string(function->attrs[attr].name, "_output_shapes") && value->is_list &&
            value->kind == ATTR_SHAPE && index < value->value.list.count) {
            return value->value.list.items[index].value.shape;
        }
    }
    return shape_unknown();
}

static void
emission_collected_type(Emission *emission, const char *name, const Collection *collection)
{
    emission_type(emission, name, collection->dtype);
    if (collection->dtype == DTYPE_INVALID) {
        emission_string(emission, "_type_of", collection->value);
    }
}

/* Makes the collections and their variables. */
static Status
open_collections(OnnxLoop *self)
{
    const Scope *scope = self->scope;
    self->collections = expand_scratch(scope->expansion, self->collection_count, sizeof *self->collections);
    if (self->collections == NULL) {
        return expand_no_memory(scope->expansion);
    }
    for (size_t index = 0; index < self->collection_count; index++) {
        Collection *collection = &self->collections[index];
        size_t output = self->first_collected + index;
        *collection = (Collection){
            .dtype = self->body->outputs[output].dtype, .element = declared_output_shape(self->body, output)};
        TRY(expand_part(scope->expansion, scope->within, "collection", &collection->handle));
        TRY(expand_port(scope->expansion, collection->handle, 1, &collection->flow));
        *loop_variable(self, self->first_flow + index) =
            (LoopVariable){.initial = collection->flow, .dtype = DTYPE_FLOAT32};
        *loop_variable(self, self->first_handle + index) =
            (LoopVariable){.initial = collection->handle, .dtype = DTYPE_RESOURCE, .is_invariant = true};
    }
    return STATUS_OK;
}

/* Writes, in the loop, what the body gave for the collection to the int32 `position`. */
static Status
write_collected(
    const OnnxLoop *self, const Scope *inside, size_t index, Slice position, const Used *used, Slice *next)
{
    size_t flow = self->first_flow + index;
    Collection *collection = &self->collections[index];
    Emission node;
    collection->value = used->outputs.items[self->first_collected + index];
    TRY(expand_part(inside->expansion, inside->within, "collected", &next[flow]));
    TRY(emission_begin(&node, inside, next[flow], "TensorArrayWriteV3", 4));
    emission_input(&node, loop_variable(self, self->first_handle + index)->current);
    emission_input(&node, position);
    emission_input(&node, collection->value);
    emission_input(&node, loop_variable(self, flow)->current);
    emission_collected_type(&node, "T", collection);
    return emission_end(&node);
}

/* Writes the TensorArray itself, which stands outside of the loop. One of size 0 grows. */
static Status
create_collection(const Scope *scope, const Collection *collection, Slice size)
{
    Emission node;
    TRY(emission_begin(&node, scope, collection->handle, "TensorArrayV3", 1));
    emission_input(&node, size);
    emission_collected_type(&node, "dtype", collection);
    emission_bool(&node, "dynamic_size", true);
    return emission_end(&node);
}

/* Writes 0, 1, … up to the number of elements that were collected. */
static Status
emit_indices(const Scope *scope, const Collection *collection, Slice flow, Slice *ret_indices)
{
    Slice size;
    Slice zero;
    Slice one;
    Emission node;
    TRY(expand_part(scope->expansion, scope->within, "collected_count", &size));
    TRY(emission_begin(&node, scope, size, "TensorArraySizeV3", 2));
    emission_input(&node, collection->handle);
    emission_input(&node, flow);
    TRY(emission_end(&node));
    TRY(emit_number(scope, "zero", DTYPE_INT32, 0, &zero));
    TRY(emit_number(scope, "one", DTYPE_INT32, 1, &one));
    TRY(expand_part(scope->expansion, scope->within, "places", ret_indices));
    TRY(emission_begin(&node, scope, *ret_indices, "Range", 3));
    emission_input(&node, zero);
    emission_input(&node, size);
    emission_input(&node, one);
    emission_type(&node, "Tidx", DTYPE_INT32);
    return emission_end(&node);
}

/* Stacks all elements along a new first dimension, as `name`. */
static Status
stack_collection(const Scope *scope, const Collection *collection, Slice flow, Slice name)
{
    Slice indices;
    Emission node;
    TRY(emit_indices(scope, collection, flow, &indices));
    TRY(emission_begin(&node, scope, name, "TensorArrayGatherV3", 3));
    emission_input(&node, collection->handle);
    emission_input(&node, indices);
    emission_input(&node, flow);
    emission_collected_type(&node, "dtype", collection);
    emission_value(
        &node, "element_shape", (AttrValue){.kind = ATTR_SHAPE, .value.shape = collection->element});
    return emission_end(&node);
}

static Status
open_onnx_loop(OnnxLoop *self, Endpoints *ret_controls)
{
    TRY(member_function(self->scope, self->member, "body", &self->body));
    return resolve_inputs(self->scope, self->member, &self->inputs, ret_controls);
}

/* Sets the positions of the variables, from their numbers and first_carried. */
static void
lay_out_variables(OnnxLoop *self)
{
    self->collection_count = self->body->output_count - self->first_collected;
    self->first_flow = self->first_carried + self->carried_count;
    self->limit = self->first_flow + self->collection_count;
    self->first_scanned = self->limit + (self->has_limit ? 1 : 0);
    self->first_handle = self->first_scanned + self->scanned_count;
    self->first_captured = self->first_handle + self->collection_count;
}

/* Makes room for the variables, which set_…() fill. */
static Status
open_variables(OnnxLoop *self, const Endpoints *controls)
{
    lay_out_variables(self);
    return loop_open(
        self->scope, self->member, controls, self->first_captured + self->captured_count, &self->loop);
}

static void
set_values(OnnxLoop *self)
{
    const Slice *input = &self->inputs.items[self->first_input];
    for (size_t index = 0; index < self->carried_count; index++) {
        *loop_variable(self, self->first_carried + index) =
            (LoopVariable){.initial = *input++, .final = self->member->outputs.items[index]};
    }
    for (size_t index = 0; index < self->scanned_count; index++) {
        *loop_variable(self, self->first_scanned + index) =
            (LoopVariable){.initial = *input++, .is_invariant = true};
    }
    for (size_t index = 0; index < self->captured_count; index++) {
        *loop_variable(self, self->first_captured + index) =
            (LoopVariable){.initial = *input++, .is_invariant = true};
    }
}

static Status
enter_onnx_loop(OnnxLoop *self)
{
    TRY(open_collections(self));
    set_values(self);
    return loop_enter(&self->loop);
}

static void
append_current(const OnnxLoop *self, size_t first, size_t count, Endpoints *arguments)
{
    for (size_t index = 0; index < count; index++) {
        arguments->items[arguments->count++] = loop_variable(self, first + index)->current;
    }
}

static Status
new_arguments(const OnnxLoop *self, const Scope *inside, Endpoints *ret_arguments)
{
    TRY(endpoints_new(inside->expansion, self->body->input_count, ret_arguments));
    ret_arguments->count = 0;
    return STATUS_OK;
}

static Status
use_body(const OnnxLoop *self, const Endpoints *arguments, Used *ret_used)
{
    Use use = {.member = self->member, .pivot = self->loop.body_pivot, .arguments = arguments};
    return expand_use_body(self->scope, use, self->body, ret_used);
}

static Status
finish_onnx_loop(const OnnxLoop *self)
{
    Endpoints none = {.count = 0};
    return form_finish(self->scope, self->member, &none);
}

Status
onnx_loop_count_outputs(const Scope *scope, const Member *member, size_t *ret_count)
{
    const FunctionDef *body = NULL;
    TRY(member_function(scope, member, "body", &body));
    *ret_count = body->output_count > 0 ? body->output_count - 1 : 0;
    return STATUS_OK;
}

static Status
measure_loop(OnnxLoop *self)
{
    int64_t captured = member_int(self->member, "_captures", 0);
    bool fits = captured >= 0 && self->inputs.count >= 2 + (size_t)captured && self->body->output_count > 0;
    self->captured_count = (size_t)captured;
    self->carried_count = fits ? self->inputs.count - 2 - self->captured_count : 0;
    if (!fits || self->body->output_count < 1 + self->carried_count ||
        self->body->input_count != 2 + self->carried_count + self->captured_count) {
        return expand_fail(self->scope, self->member,
            "its body has %zu inputs and %zu outputs, the node %zu inputs", self->body->input_count,
            self->body->output_count, self->inputs.count);
    }
    self->first_input = 2;
    self->has_limit = self->inputs.items[0].size > 0;
    self->has_condition = self->inputs.items[1].size > 0;
    self->first_carried = self->has_condition ? 2 : 1;
    self->first_collected = 1 + self->carried_count;
    return STATUS_OK;
}

static Status
set_loop_counters(OnnxLoop *self)
{
    Scope *scope = self->scope;
    LoopVariable *counter = loop_variable(self, 0);
    *counter = (LoopVariable){.dtype = DTYPE_INT64};
    TRY(emit_number(scope, "first", DTYPE_INT64, 0, &counter->initial));
    if (self->has_condition) {
        LoopVariable *condition = loop_variable(self, 1);
        condition->dtype = DTYPE_BOOL;
        TRY(emit_scalar(scope, "condition", self->inputs.items[1], DTYPE_BOOL, &condition->initial));
    }
    if (self->has_limit) {
        LoopVariable *limit = loop_variable(self, self->limit);
        *limit = (LoopVariable){.dtype = DTYPE_INT64, .is_invariant = true};
        TRY(emit_scalar(scope, "limit", self->inputs.items[0], DTYPE_INT64, &limit->initial));
    }
    return STATUS_OK;
}

/* Compares i with the limit. */
static Status
emit_is_below(const OnnxLoop *self, const Scope *scope, Slice *ret_predicate)
{
    Binary less = {
        "Less", loop_variable(self, 0)->merged, loop_variable(self, self->limit)->merged, DTYPE_INT64};
    return emit_binary(scope, "is_below", less, ret_predicate);
}

static Status
decide_loop(OnnxLoop *self)
{
    Scope inside = *self->scope;
    inside.pivot = self->loop.condition_pivot;
    Slice predicate = self->has_condition ? loop_variable(self, 1)->merged : SLICE("");
    if (self->has_limit) {
        Slice condition = predicate;
        TRY(emit_is_below(self, &inside, &predicate));
        if (condition.size > 0) {
            Binary both = {"LogicalAnd", predicate, condition, DTYPE_INVALID};
            TRY(emit_binary(&inside, "goes_on", both, &predicate));
        }
    } else if (predicate.size == 0) {
        TRY(emit_number(&inside, "always", DTYPE_BOOL, true, &predicate));
    }
    return loop_decide(&self->loop, predicate);
}

/* The body takes (i, condition, carried…, captured…). */
static Status
use_loop_body(OnnxLoop *self, const Scope *inside, Used *ret_used)
{
    Endpoints arguments;
    TRY(new_arguments(self, inside, &arguments));
    append_current(self, 0, self->has_condition ? 2 : 1, &arguments);
    if (!self->has_condition) {
        TRY(emit_number(inside, "true", DTYPE_BOOL, true, &arguments.items[arguments.count++]));
    }
    append_current(self, self->first_carried, self->carried_count, &arguments);
    append_current(self, self->first_captured, self->captured_count, &arguments);
    return use_body(self, &arguments, ret_used);
}

static Status
collect_loop_outputs(const OnnxLoop *self, const Scope *inside, const Used *used, Slice *next)
{
    Slice position;
    if (self->collection_count > 0) {
        Slice counter = loop_variable(self, 0)->current;
        TRY(emit_cast(inside, "position", counter, DTYPE_INT64, DTYPE_INT32, &position));
    }
    for (size_t index = 0; index < self->collection_count; index++) {
        TRY(write_collected(self, inside, index, position, used, next));
    }
    return STATUS_OK;
}

static Status
write_loop_iteration(OnnxLoop *self)
{
    Scope inside = *self->scope;
    inside.pivot = self->loop.body_pivot;
    Used used;
    Slice one;
    Slice *next = expand_scratch(inside.expansion, self->loop.variable_count, sizeof *next);
    if (next == NULL) {
        return expand_no_memory(inside.expansion);
    }
    TRY(use_loop_body(self, &inside, &used));
    TRY(emit_number(&inside, "step", DTYPE_INT64, 1, &one));
    Binary counted = {"AddV2", loop_variable(self, 0)->current, one, DTYPE_INT64};
    TRY(emit_binary(&inside, "counted", counted, &next[0]));
    if (self->has_condition) {
        TRY(emit_scalar(&inside, "next_condition", used.outputs.items[0], DTYPE_BOOL, &next[1]));
    }
    for (size_t index = 0; index < self->carried_count; index++) {
        next[self->first_carried + index] = used.outputs.items[1 + index];
    }
    TRY(collect_loop_outputs(self, &inside, &used, next));
    return loop_close(&self->loop, next);
}

static Status
stack_loop_outputs(const OnnxLoop *self)
{
    Slice size;
    if (self->collection_count > 0) {
        TRY(emit_number(self->scope, "none", DTYPE_INT32, 0, &size));
    }
    for (size_t index = 0; index < self->collection_count; index++) {
        Slice flow = loop_variable(self, self->first_flow + index)->final;
        Slice name = self->member->outputs.items[self->carried_count + index];
        TRY(create_collection(self->scope, &self->collections[index], size));
        TRY(stack_collection(self->scope, &self->collections[index], flow, name));
    }
    return STATUS_OK;
}

Status
onnx_loop_expand(Scope *scope, Member *member)
{
    OnnxLoop self = {.scope = scope, .member = member};
    Endpoints controls;
    TRY(open_onnx_loop(&self, &controls));
    TRY(measure_loop(&self));
    TRY(open_variables(&self, &controls));
    TRY(set_loop_counters(&self));
    TRY(enter_onnx_loop(&self));
    TRY(decide_loop(&self));
    TRY(write_loop_iteration(&self));
    TRY(stack_loop_outputs(&self));
    return finish_onnx_loop(&self);
}

Status
onnx_scan_count_outputs(const Scope *scope, const Member *member, size_t *ret_count)
{
    const FunctionDef *body = NULL;
    TRY(member_function(scope, member, "body", &body));
    *ret_count = body->output_count;
    return STATUS_OK;
}

/* Returns the `index`-th number of an attribute; 0, ONNX's default for all of them, when the list is
 * shorter. */
static int64_t
list_attr_int(const OnnxLoop *self, const char *attr, size_t index)
{
    const AttrValue *list = member_attr(self->member, attr);
    bool is_there = list != NULL && list->is_list && list->kind == ATTR_INT && index < list->value.list.count;
    return is_there ? list->value.list.items[index].value.i : 0;
}

static Status
measure_scan(OnnxLoop *self)
{
    int64_t scanned = member_int(self->member, "num_scan_inputs", 0);
    int64_t captured = member_int(self->member, "_captures", 0);
    bool fits = scanned >= 1 && captured >= 0 && scanned <= GRAPH_NODE_COUNT_MAX &&
                self->inputs.count >= (size_t)scanned + (size_t)captured &&
                self->body->input_count == self->inputs.count;
    self->scanned_count = (size_t)scanned;
    self->captured_count = (size_t)captured;
    self->carried_count = fits ? self->inputs.count - self->scanned_count - self->captured_count : 0;
    if (!fits || self->body->output_count < self->carried_count) {
        return expand_fail(self->scope, self->member,
            "its body has %zu inputs and %zu outputs, the node %zu inputs, of which %lld are scanned",
            self->body->input_count, self->body->output_count, self->inputs.count, (long long)scanned);
    }
    self->has_limit = true;
    self->first_carried = 1;
    self->first_collected = self->carried_count;
    return STATUS_OK;
}

/* Writes ONNX's Gather of one element along the axis. */
static Status
emit_element(
    const Scope *scope, const char *part, Slice data, Slice position, int64_t axis, Slice *ret_element)
{
    Emission node;
    TRY(expand_part(scope->expansion, scope->within, part, ret_element));
    TRY(emission_begin(&node, scope, *ret_element, "onnx::Gather", 2));
    emission_input(&node, data);
    emission_input(&node, position);
    emission_int(&node, "axis", axis);
    return emission_end(&node);
}

static Status
emit_length(const OnnxLoop *self, Slice *ret_length)
{
    Slice shape;
    Slice axis;
    Emission node;
    TRY(expand_part(self->scope->expansion, self->member->name, "shape", &shape));
    TRY(emission_begin(&node, self->scope, shape, "onnx::Shape", 1));
    emission_input(&node, self->inputs.items[self->carried_count]);
    TRY(emission_end(&node));
    TRY(emit_number(self->scope, "axis", DTYPE_INT64, list_attr_int(self, "scan_input_axes", 0), &axis));
    return emit_element(self->scope, "length", shape, axis, 0, ret_length);
}

static Status
set_scan_counters(const OnnxLoop *self)
{
    LoopVariable *counter = loop_variable(self, 0);
    LoopVariable *length = loop_variable(self, self->limit);
    *counter = (LoopVariable){.dtype = DTYPE_INT64};
    *length = (LoopVariable){.dtype = DTYPE_INT64, .is_invariant = true};
    TRY(emit_number(self->scope, "first", DTYPE_INT64, 0, &counter->initial));
    return emit_length(self, &length->initial);
}

/* The two positions of an iteration of a Scan: i, and the one as far from the end. */
typedef struct ScanPositions {
    Slice forwards;
    Slice backwards;
} ScanPositions;

static Slice
scan_position(const OnnxLoop *self, const ScanPositions *positions, const char *directions, size_t index)
{
    bool is_reverse = list_attr_int(self, directions, index) == 1;
    return is_reverse ? positions->backwards : positions->forwards;
}

static Status
count_scan_up(const OnnxLoop *self, const Scope *inside, Slice *ret_next, ScanPositions *ret_positions)
{
    Slice one;
    ret_positions->forwards = loop_variable(self, 0)->current;
    TRY(emit_number(inside, "step", DTYPE_INT64, 1, &one));
    Binary counted = {"AddV2", ret_positions->forwards, one, DTYPE_INT64};
    TRY(emit_binary(inside, "counted", counted, ret_next));
    Binary from_end = {"Sub", loop_variable(self, self->limit)->current, *ret_next, DTYPE_INT64};
    return emit_binary(inside, "from_end", from_end, &ret_positions->backwards);
}

/* The body takes (states…, elements…, captured…). */
static Status
use_scan_body(const OnnxLoop *self, const Scope *inside, const ScanPositions *positions, Used *ret_used)
{
    Endpoints arguments;
    TRY(new_arguments(self, inside, &arguments));
    append_current(self, self->first_carried, self->carried_count, &arguments);
    for (size_t index = 0; index < self->scanned_count; index++) {
        TRY(emit_element(inside, "element", loop_variable(self, self->first_scanned + index)->current,
            scan_position(self, positions, "scan_input_directions", index),
            list_attr_int(self, "scan_input_axes", index), &arguments.items[arguments.count++]));
    }
    append_current(self, self->first_captured, self->captured_count, &arguments);
    return use_body(self, &arguments, ret_used);
}

static Status
collect_scan_outputs(
    const OnnxLoop *self, const Scope *inside, const ScanPositions *positions, const Used *used, Slice *next)
{
    for (size_t index = 0; index < self->collection_count; index++) {
        Slice from = scan_position(self, positions, "scan_output_directions", index);
        Slice position;
        TRY(emit_cast(inside, "position", from, DTYPE_INT64, DTYPE_INT32, &position));
        TRY(write_collected(self, inside, index, position, used, next));
    }
    return STATUS_OK;
}

static Status
write_scan_iteration(OnnxLoop *self)
{
    Scope inside = *self->scope;
    inside.pivot = self->loop.body_pivot;
    Used used;
    ScanPositions positions;
    Slice *next = expand_scratch(inside.expansion, self->loop.variable_count, sizeof *next);
    if (next == NULL) {
        return expand_no_memory(inside.expansion);
    }
    TRY(count_scan_up(self, &inside, &next[0], &positions));
    TRY(use_scan_body(self, &inside, &positions, &used));
    for (size_t index = 0; index < self->carried_count; index++) {
        next[self->first_carried + index] = used.outputs.items[index];
    }
    TRY(collect_scan_outputs(self, &inside, &positions, &used, next));
    return loop_close(&self->loop, next);
}

/* Moves the first dimension of the stacked output to `axis`. */
static Status
emit_moved(const OnnxLoop *self, size_t index, int64_t axis, Slice stacked, Slice name)
{
    const Collection *collection = &self->collections[index];
    int rank = collection->element.rank + 1;
    int64_t target = axis < 0 ? axis + rank : axis;
    int64_t order[SHAPE_RANK_MAX + 1];
    if (collection->element.rank < 0 || target < 0 || target >= rank) {
        return expand_fail(self->scope, self->member,
            "output %zu is collected along axis %lld, and the body does not declare it with a rank that has "
            "it",
            self->carried_count + index, (long long)axis);
    }
    for (int64_t dimension = 0; dimension < rank; dimension++) {
        order[dimension] = dimension < target ? dimension + 1 : dimension == target ? 0 : dimension;
    }
    Slice permutation;
    Emission node;
    TRY(expand_part(self->scope->expansion, self->member->name, "order", &permutation));
    TRY(emit_ints(self->scope, permutation, DTYPE_INT32, order, (size_t)rank));
    TRY(emission_begin(&node, self->scope, name, "Transpose", 2));
    emission_input(&node, stacked);
    emission_input(&node, permutation);
    emission_collected_type(&node, "T", collection);
    emission_type(&node, "Tperm", DTYPE_INT32);
    return emission_end(&node);
}

static Status
stack_scan_output(const OnnxLoop *self, size_t index)
{
    Slice name = self->member->outputs.items[self->carried_count + index];
    int64_t axis = list_attr_int(self, "scan_output_axes", index);
    const Collection *collection = &self->collections[index];
    Slice flow = loop_variable(self, self->first_flow + index)->final;
    if (axis == 0) {
        return stack_collection(self->scope, collection, flow, name);
    }
    Slice stacked;
    TRY(expand_part(self->scope->expansion, self->member->name, "stacked", &stacked));
    TRY(stack_collection(self->scope, collection, flow, stacked));
    return emit_moved(self, index, axis, stacked, name);
}

static Status
stack_scan_outputs(const OnnxLoop *self)
{
    Slice size;
    Slice length = loop_variable(self, self->limit)->initial;
    TRY(emit_cast(self->scope, "size", length, DTYPE_INT64, DTYPE_INT32, &size));
    for (size_t index = 0; index < self->collection_count; index++) {
        TRY(create_collection(self->scope, &self->collections[index], size));
        TRY(stack_scan_output(self, index));
    }
    return STATUS_OK;
}

Status
onnx_scan_expand(Scope *scope, Member *member)
{
    OnnxLoop self = {.scope = scope, .member = member};
    Endpoints controls;
    Slice predicate;
    TRY(open_onnx_loop(&self, &controls));
    TRY(measure_scan(&self));
    TRY(open_variables(&self, &controls));
    TRY(set_scan_counters(&self));
    TRY(enter_onnx_loop(&self));
    TRY(emit_is_below(&self, scope, &predicate));
    TRY(loop_decide(&self.loop, predicate));
    TRY(write_scan_iteration(&self));
    TRY(stack_scan_outputs(&self));
    return finish_onnx_loop(&self);
}
