/* ONNX's Scan: body(states…, elements…) → (states…, collected…), once for each position along the scanned
 * axes, forwards or backwards.
 *
 * The loop's variables: i; the states; the flow of each collection; then what stays: the length, the scanned
 * tensors, the collections' handles, what the body takes from around it. */
#include "gateway/expand/expansion.h"

typedef struct Scan {
    Scope *scope;
    Member *member;
    const FunctionDef *body;
    Endpoints inputs; /* states…, scanned…, captured… */
    size_t state_count;
    size_t scanned_count;
    size_t captured_count;
    Loop loop;
    Collections collections;
    size_t length; /* places among the variables; states begin at 1 */
    size_t first_scanned;
    size_t first_captured;
    Slice forwards; /* in the body: i, and what is as far from the end */
    Slice backwards;
} Scan;

Status
onnx_scan_count_outputs(const Scope *scope, const Member *member, size_t *ret_count)
{
    const FunctionDef *body = NULL;
    TRY(member_function(scope, member, "body", &body));
    *ret_count = body->output_count;
    return STATUS_OK;
}

/* The `index`-th number of a list, 0 when it is not there. */
static int64_t
item_of(const Scan *self, const char *attr, size_t index)
{
    const AttrValue *const list = member_attr(self->member, attr);
    const bool is_there =
        list != NULL && list->is_list && list->kind == ATTR_INT && index < list->value.list.count;
    return is_there ? list->value.list.items[index].value.i : 0;
}

static LoopVariable *
variable(const Scan *self, size_t index)
{
    return &self->loop.variables[index];
}

/* --- Variables ------------------------------------------------------------------------------------------ */

static Status
measure(Scan *self)
{
    const int64_t scanned = member_int(self->member, "num_scan_inputs", 0);
    const int64_t captured = member_int(self->member, "_captures", 0);
    const bool fits = scanned >= 1 && captured >= 0 && scanned <= GRAPH_NODE_COUNT_MAX &&
                      self->inputs.count >= (size_t)scanned + (size_t)captured &&
                      self->body->input_count == self->inputs.count;
    self->scanned_count = (size_t)scanned;
    self->captured_count = (size_t)captured;
    self->state_count = fits ? self->inputs.count - self->scanned_count - self->captured_count : 0;
    if (!fits || self->body->output_count < self->state_count) {
        return expand_fail(self->scope, self->member,
            "its body has %zu inputs and %zu outputs, the node %zu inputs, of which %lld are scanned",
            self->body->input_count, self->body->output_count, self->inputs.count, (long long)scanned);
    }
    Collections *const collections = &self->collections;
    collections->first_output = self->state_count;
    collections->count = self->body->output_count - self->state_count;
    collections->first_flow = 1 + self->state_count;
    self->length = collections->first_flow + collections->count;
    self->first_scanned = self->length + 1;
    collections->first_handle = self->first_scanned + self->scanned_count;
    self->first_captured = collections->first_handle + collections->count;
    return STATUS_OK;
}

/* The element of ONNX's Gather along this axis. */
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
emit_length(const Scan *self, Slice *ret_length)
{
    Slice shape;
    Slice axis;
    Emission node;
    TRY(expand_part(self->scope->expansion, self->member->name, "shape", &shape));
    TRY(emission_begin(&node, self->scope, shape, "onnx::Shape", 1));
    emission_input(&node, self->inputs.items[self->state_count]);
    TRY(emission_end(&node));
    TRY(emit_number(self->scope, "axis", DTYPE_INT64, item_of(self, "scan_input_axes", 0), &axis));
    return emit_element(self->scope, "length", shape, axis, 0, ret_length);
}

static Status
set_counters(const Scan *self)
{
    LoopVariable *const counter = variable(self, 0);
    LoopVariable *const length = variable(self, self->length);
    *counter = (LoopVariable){.dtype = DTYPE_INT64};
    *length = (LoopVariable){.dtype = DTYPE_INT64, .is_invariant = true};
    TRY(emit_number(self->scope, "first", DTYPE_INT64, 0, &counter->initial));
    return emit_length(self, &length->initial);
}

static void
set_values(const Scan *self)
{
    for (size_t index = 0; index < self->state_count; index++) {
        *variable(self, 1 + index) =
            (LoopVariable){.initial = self->inputs.items[index], .final = self->member->outputs.items[index]};
    }
    for (size_t index = 0; index < self->scanned_count; index++) {
        *variable(self, self->first_scanned + index) =
            (LoopVariable){.initial = self->inputs.items[self->state_count + index], .is_invariant = true};
    }
    for (size_t index = 0; index < self->captured_count; index++) {
        *variable(self, self->first_captured + index) =
            (LoopVariable){.initial = self->inputs.items[self->state_count + self->scanned_count + index],
                .is_invariant = true};
    }
}

static Status
begin(Scan *self)
{
    Endpoints controls;
    TRY(member_function(self->scope, self->member, "body", &self->body));
    TRY(resolve_inputs(self->scope, self->member, &self->inputs, &controls));
    TRY(measure(self));
    const size_t count = self->first_captured + self->captured_count;
    TRY(loop_open(self->scope, self->member, &controls, count, &self->loop));
    TRY(set_counters(self));
    TRY(collections_open(&self->collections, self->body));
    set_values(self);
    return loop_enter(&self->loop);
}

/* --- What goes round ------------------------------------------------------------------------------------ */

static Status
use_body(const Scan *self, const Scope *inside, Used *ret_used)
{
    Endpoints arguments;
    TRY(endpoints_new(inside->expansion, self->body->input_count, &arguments));
    size_t count = 0;
    for (size_t index = 0; index < self->state_count; index++) {
        arguments.items[count++] = variable(self, 1 + index)->current;
    }
    for (size_t index = 0; index < self->scanned_count; index++) {
        const bool is_reverse = item_of(self, "scan_input_directions", index) == 1;
        TRY(emit_element(inside, "element", variable(self, self->first_scanned + index)->current,
            is_reverse ? self->backwards : self->forwards, item_of(self, "scan_input_axes", index),
            &arguments.items[count++]));
    }
    for (size_t index = 0; index < self->captured_count; index++) {
        arguments.items[count++] = variable(self, self->first_captured + index)->current;
    }
    const Use use = {.member = self->member, .pivot = self->loop.body_pivot, .arguments = &arguments};
    return expand_use_body(self->scope, use, self->body, ret_used);
}

static Status
collect(const Scan *self, const Scope *inside, const Used *used, Slice *next)
{
    for (size_t index = 0; index < self->collections.count; index++) {
        const bool is_reverse = item_of(self, "scan_output_directions", index) == 1;
        Slice position;
        TRY(emit_cast(inside, "position", is_reverse ? self->backwards : self->forwards, DTYPE_INT64,
            DTYPE_INT32, &position));
        TRY(collections_write(&self->collections, inside, index, position, used, next));
    }
    return STATUS_OK;
}

static Status
count_up(Scan *self, const Scope *inside, Slice *ret_next)
{
    Slice one;
    self->forwards = variable(self, 0)->current;
    TRY(emit_number(inside, "step", DTYPE_INT64, 1, &one));
    TRY(emit_binary(inside, "counted", (Binary){"AddV2", self->forwards, one, DTYPE_INT64}, ret_next));
    return emit_binary(inside, "from_end",
        (Binary){"Sub", variable(self, self->length)->current, *ret_next, DTYPE_INT64}, &self->backwards);
}

static Status
go_round(Scan *self)
{
    Scope inside = *self->scope;
    inside.pivot = self->loop.body_pivot;
    Used used;
    Slice *const next = expand_scratch(inside.expansion, self->loop.variable_count, sizeof *next);
    if (next == NULL) {
        return expand_no_memory(inside.expansion);
    }
    TRY(count_up(self, &inside, &next[0]));
    TRY(use_body(self, &inside, &used));
    for (size_t index = 0; index < self->state_count; index++) {
        next[1 + index] = used.outputs.items[index];
    }
    TRY(collect(self, &inside, &used, next));
    return loop_close(&self->loop, next);
}

/* --- Outputs -------------------------------------------------------------------------------------------- */

/* The first dimension moves to `axis`. */
static Status
emit_moved(const Scan *self, size_t index, int64_t axis, Slice stacked, Slice name)
{
    const Collection *const collection = &self->collections.items[index];
    const int rank = collection->element.rank + 1;
    const int64_t place = axis < 0 ? axis + rank : axis;
    int64_t order[SHAPE_RANK_MAX + 1];
    if (collection->element.rank < 0 || place < 0 || place >= rank) {
        return expand_fail(self->scope, self->member,
            "output %zu is collected along axis %lld, and the body does not declare it with a rank that has "
            "it",
            self->state_count + index, (long long)axis);
    }
    for (int64_t dimension = 0; dimension < rank; dimension++) {
        order[dimension] = dimension < place ? dimension + 1 : dimension == place ? 0 : dimension;
    }
    Slice permutation;
    Emission node;
    TRY(expand_part(self->scope->expansion, self->member->name, "order", &permutation));
    TRY(emit_ints(self->scope, permutation, DTYPE_INT32, order, (size_t)rank));
    TRY(emission_begin(&node, self->scope, name, "Transpose", 2));
    emission_input(&node, stacked);
    emission_input(&node, permutation);
    emission_collected(&node, "T", collection);
    emission_type(&node, "Tperm", DTYPE_INT32);
    return emission_end(&node);
}

static Status
stack_output(const Scan *self, size_t index)
{
    const Slice name = self->member->outputs.items[self->state_count + index];
    const int64_t axis = item_of(self, "scan_output_axes", index);
    const Collection *const collection = &self->collections.items[index];
    const Slice flow = variable(self, self->collections.first_flow + index)->final;
    if (axis == 0) {
        return collection_stack(self->scope, collection, flow, name);
    }
    Slice stacked;
    TRY(expand_part(self->scope->expansion, self->member->name, "stacked", &stacked));
    TRY(collection_stack(self->scope, collection, flow, stacked));
    return emit_moved(self, index, axis, stacked, name);
}

static Status
stack_outputs(const Scan *self)
{
    Slice size;
    TRY(emit_cast(
        self->scope, "size", variable(self, self->length)->initial, DTYPE_INT64, DTYPE_INT32, &size));
    for (size_t index = 0; index < self->collections.count; index++) {
        TRY(collection_create(self->scope, &self->collections.items[index], size));
        TRY(stack_output(self, index));
    }
    return STATUS_OK;
}

Status
onnx_scan_expand(Scope *scope, Member *member)
{
    Scan self = {.scope = scope, .member = member, .collections = {.loop = &self.loop}};
    Slice predicate;
    TRY(begin(&self));
    TRY(emit_binary(scope, "is_below",
        (Binary){"Less", variable(&self, 0)->merged, variable(&self, self.length)->merged, DTYPE_INT64},
        &predicate));
    TRY(loop_decide(&self.loop, predicate));
    TRY(go_round(&self));
    TRY(stack_outputs(&self));
    const Endpoints none = {.count = 0};
    return expand_finish(scope, member, &none);
}
