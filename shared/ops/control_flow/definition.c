/* TensorFlow's dataflow control flow, which decides which nodes run. The executor itself does these ops:
 * they have no kernels. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

static Status
infer_switch(Call *call, InferContext *context)
{
    (void)call;
    context->outputs[0] = context->inputs[0];
    context->outputs[1] = context->inputs[0];
    return STATUS_OK;
}

/* The shape that all inputs agree in; a loop's back edge is not known when the rule runs. */
static Status
infer_merge(Call *call, InferContext *context)
{
    (void)call;
    Shape merged = context->inputs[0];
    for (uint32_t i = 1; i < context->node->input_count; i++) {
        const Shape *input = &context->inputs[i];
        if (merged.rank != input->rank) {
            merged = shape_unknown();
        }
        for (int axis = 0; axis < merged.rank; axis++) {
            merged.dims[axis] = merged.dims[axis] == input->dims[axis] ? input->dims[axis] : -1;
        }
    }
    context->outputs[0] = merged;
    context->outputs[1] = shape_scalar();
    return STATUS_OK;
}

static const OpDefinition control_flow_ops[] = {
    OP("Switch(data:T, pred:bool)->(output_false:T, output_true:T) {T:type}", OP_CONTROL_FLOW, infer_switch),
    OP("Merge(inputs:N*T)->(output:T, value_index:int32) {T:type, N:int>=1}", OP_CONTROL_FLOW, infer_merge),
    OP("Enter(data:T)->(output:T) {T:type, frame_name:string, is_constant:bool=false, "
       "parallel_iterations:int=10}",
        OP_CONTROL_FLOW, infer_unknown),
    OP("Exit(data:T)->(output:T) {T:type}", OP_CONTROL_FLOW, infer_unknown),
    OP("NextIteration(data:T)->(output:T) {T:type}", OP_CONTROL_FLOW, infer_unknown),
    OP("LoopCond(input:bool)->(output:bool) {}", OP_CONTROL_FLOW, infer_unchanged),
    OP("ControlTrigger()->() {}", OP_CONTROL_FLOW, infer_unknown),
    OP("RefSwitch(data:Ref(T), pred:bool)->(output_false:Ref(T), output_true:Ref(T)) {T:type}",
        OP_CONTROL_FLOW, infer_switch),
    OP("RefMerge(inputs:Ref(N*T))->(output:Ref(T), value_index:int32) {T:type, N:int>=1}", OP_CONTROL_FLOW,
        infer_merge),
    OP("RefEnter(data:Ref(T))->(output:Ref(T)) {T:type, frame_name:string, is_constant:bool=false, "
       "parallel_iterations:int=10}",
        OP_CONTROL_FLOW, infer_unknown),
    OP("RefExit(data:Ref(T))->(output:Ref(T)) {T:type}", OP_CONTROL_FLOW, infer_unknown),
    OP("RefNextIteration(data:Ref(T))->(output:Ref(T)) {T:type}", OP_CONTROL_FLOW, infer_unknown),
};

OP_FAMILY(control_flow, control_flow_ops);
