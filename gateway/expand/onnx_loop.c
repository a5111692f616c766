/* ONNX's Loop: while (i < M && condition) body(i, condition, carried…) → (condition, carried…, collected…).
 *
 * The loop's variables: i; the condition, where the node gives one; the carried values; the flow of each
 * collection; then what stays: M, the collections' handles, what the body takes from around it. */
#include "gateway/expand/expansion.h"

typedef struct OnnxLoop {
    Scope *scope;
    Member *member;
    const FunctionDef *body;
    Endpoints inputs; /* M, condition, carried…, captured… */
    size_t carried_count;
    size_t captured_count;
    Loop loop;
    Collections collections;
    bool has_limit;
    bool has_condition;
    size_t first_carried; /* places among the variables */
    size_t limit;
    size_t first_captured;
} OnnxLoop;

Status
onnx_loop_count_outputs(const Scope *scope, const Member *member, size_t *ret_count)
{
    const FunctionDef *body = NULL;
    TRY(member_function(scope, member, "body", &body));
    *ret_count = body->output_count > 0 ? body->output_count - 1 : 0;
    return STATUS_OK;
}

/* --- Variables ------------------------------------------------------------------------------------------ */

static Status
measure(OnnxLoop *self)
{
    const int64_t captured = member_int(self->member, "_captures", 0);
    const bool fits =
        captured >= 0 && self->inputs.count >= 2 + (size_t)captured && self->body->output_count > 0;
    self->captured_count = (size_t)captured;
    self->carried_count = fits ? self->inputs.count - 2 - self->captured_count : 0;
    if (!fits || self->body->output_count < 1 + self->carried_count ||
        self->body->input_count != 2 + self->carried_count + self->captured_count) {
        return expand_fail(self->scope, self->member,
            "its body has %zu inputs and %zu outputs, the node %zu inputs", self->body->input_count,
            self->body->output_count, self->inputs.count);
    }
    Collections *const collections = &self->collections;
    self->has_limit = self->inputs.items[0].size > 0;
    self->has_condition = self->inputs.items[1].size > 0;
    self->first_carried = self->has_condition ? 2 : 1;
    collections->first_output = 1 + self->carried_count;
    collections->count = self->body->output_count - collections->first_output;
    collections->first_flow = self->first_carried + self->carried_count;
    self->limit = collections->first_flow + collections->count;
    collections->first_handle = self->limit + (self->has_limit ? 1 : 0);
    self->first_captured = collections->first_handle + collections->count;
    return STATUS_OK;
}

static LoopVariable *
variable(const OnnxLoop *self, size_t index)
{
    return &self->loop.variables[index];
}

static Status
set_counters(OnnxLoop *self)
{
    Scope *const scope = self->scope;
    LoopVariable *const counter = variable(self, 0);
    *counter = (LoopVariable){.dtype = DTYPE_INT64};
    TRY(emit_number(scope, "first", DTYPE_INT64, 0, &counter->initial));
    if (self->has_condition) {
        variable(self, 1)->dtype = DTYPE_BOOL;
        TRY(emit_scalar(scope, "condition", self->inputs.items[1], DTYPE_BOOL, &variable(self, 1)->initial));
    }
    if (self->has_limit) {
        LoopVariable *const limit = variable(self, self->limit);
        *limit = (LoopVariable){.dtype = DTYPE_INT64, .is_invariant = true};
        TRY(emit_scalar(scope, "limit", self->inputs.items[0], DTYPE_INT64, &limit->initial));
    }
    return STATUS_OK;
}

static void
set_values(OnnxLoop *self)
{
    for (size_t index = 0; index < self->carried_count; index++) {
        *variable(self, self->first_carried + index) = (LoopVariable){
            .initial = self->inputs.items[2 + index], .final = self->member->outputs.items[index]};
    }
    for (size_t index = 0; index < self->captured_count; index++) {
        *variable(self, self->first_captured + index) = (LoopVariable){
            .initial = self->inputs.items[2 + self->carried_count + index], .is_invariant = true};
    }
}

static Status
begin(OnnxLoop *self)
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
decide(OnnxLoop *self)
{
    Scope inside = *self->scope;
    inside.pivot = self->loop.condition_pivot;
    Slice predicate = self->has_condition ? variable(self, 1)->merged : SLICE("");
    if (self->has_limit) {
        Slice is_below;
        TRY(emit_binary(&inside, "is_below",
            (Binary){"Less", variable(self, 0)->merged, variable(self, self->limit)->merged, DTYPE_INT64},
            &is_below));
        const Slice condition = predicate;
        predicate = is_below;
        if (condition.size > 0) {
            TRY(emit_binary(
                &inside, "goes_on", (Binary){"LogicalAnd", is_below, condition, DTYPE_INVALID}, &predicate));
        }
    } else if (predicate.size == 0) {
        TRY(emit_number(&inside, "always", DTYPE_BOOL, true, &predicate));
    }
    return loop_decide(&self->loop, predicate);
}

/* (i, condition, carried…, captured…) */
static Status
use_body(OnnxLoop *self, const Scope *inside, Used *ret_used)
{
    Endpoints arguments;
    TRY(endpoints_new(inside->expansion, self->body->input_count, &arguments));
    arguments.items[0] = variable(self, 0)->current;
    if (self->has_condition) {
        arguments.items[1] = variable(self, 1)->current;
    } else {
        TRY(emit_number(inside, "true", DTYPE_BOOL, true, &arguments.items[1]));
    }
    for (size_t index = 0; index < self->carried_count; index++) {
        arguments.items[2 + index] = variable(self, self->first_carried + index)->current;
    }
    for (size_t index = 0; index < self->captured_count; index++) {
        arguments.items[2 + self->carried_count + index] =
            variable(self, self->first_captured + index)->current;
    }
    const Use use = {.member = self->member, .pivot = self->loop.body_pivot, .arguments = &arguments};
    return expand_use_body(self->scope, use, self->body, ret_used);
}

static Status
collect(const OnnxLoop *self, const Scope *inside, const Used *used, Slice *next)
{
    Slice position;
    if (self->collections.count > 0) {
        TRY(emit_cast(inside, "position", variable(self, 0)->current, DTYPE_INT64, DTYPE_INT32, &position));
    }
    for (size_t index = 0; index < self->collections.count; index++) {
        TRY(collections_write(&self->collections, inside, index, position, used, next));
    }
    return STATUS_OK;
}

static Status
go_round(OnnxLoop *self)
{
    Scope inside = *self->scope;
    inside.pivot = self->loop.body_pivot;
    Used used;
    Slice one;
    Slice *const next = expand_scratch(inside.expansion, self->loop.variable_count, sizeof *next);
    if (next == NULL) {
        return expand_no_memory(inside.expansion);
    }
    TRY(use_body(self, &inside, &used));
    TRY(emit_number(&inside, "step", DTYPE_INT64, 1, &one));
    TRY(emit_binary(
        &inside, "counted", (Binary){"AddV2", variable(self, 0)->current, one, DTYPE_INT64}, &next[0]));
    if (self->has_condition) {
        TRY(emit_scalar(&inside, "next_condition", used.outputs.items[0], DTYPE_BOOL, &next[1]));
    }
    for (size_t index = 0; index < self->carried_count; index++) {
        next[self->first_carried + index] = used.outputs.items[1 + index];
    }
    TRY(collect(self, &inside, &used, next));
    return loop_close(&self->loop, next);
}

static Status
stack_outputs(const OnnxLoop *self)
{
    const Collections *const collections = &self->collections;
    Slice size;
    if (collections->count > 0) {
        TRY(emit_number(self->scope, "none", DTYPE_INT32, 0, &size));
    }
    for (size_t index = 0; index < collections->count; index++) {
        TRY(collection_create(self->scope, &collections->items[index], size));
        TRY(collection_stack(self->scope, &collections->items[index],
            variable(self, collections->first_flow + index)->final,
            self->member->outputs.items[self->carried_count + index]));
    }
    return STATUS_OK;
}

Status
onnx_loop_expand(Scope *scope, Member *member)
{
    OnnxLoop self = {.scope = scope, .member = member, .collections = {.loop = &self.loop}};
    TRY(begin(&self));
    TRY(decide(&self));
    TRY(go_round(&self));
    TRY(stack_outputs(&self));
    const Endpoints none = {.count = 0};
    return expand_finish(scope, member, &none);
}
