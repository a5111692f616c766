/* Variables: values that a session keeps from step to step. Reference variables give references (Ref(T)),
 * resource variables handles. "_Restored…" begins with a value from a model's checkpoint, which is its
 * input. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

static Status
infer_declared(Call *call, InferContext *context)
{
    (void)call;
    context->outputs[0] = node_attr(context->node, "shape")->value.shape;
    return STATUS_OK;
}

/* A scalar shape means an unknown one in the first form of variables. */
static Status
infer_legacy(Call *call, InferContext *context)
{
    TRY(infer_declared(call, context));
    if (context->outputs[0].rank == 0) {
        context->outputs[0] = shape_unknown();
    }
    return STATUS_OK;
}

static Status
infer_assign(Call *call, InferContext *context)
{
    (void)call;
    context->outputs[0] = context->inputs[1];
    return STATUS_OK;
}

/* The output is the reference that was input. */
static Status
infer_first(Call *call, InferContext *context)
{
    (void)call;
    context->outputs[0] = context->inputs[0];
    return STATUS_OK;
}

static Status
infer_vector(Call *call, InferContext *context)
{
    (void)call;
    context->outputs[0] = shape_of_rank(1);
    return STATUS_OK;
}

static const OpDefinition variable_ops[] = {
    OP("Variable!()->(ref:Ref(dtype)) {shape:shape, dtype:type, container:string=, shared_name:string=}",
        OP_KEEPS_STATE, infer_legacy),
    OP("VariableV2!()->(ref:Ref(dtype)) {shape:shape, dtype:type, container:string=, shared_name:string=}",
        OP_KEEPS_STATE, infer_declared),
    OP("VarHandleOp!()->(resource:resource) {container:string=, shared_name:string=, debug_name:string=, "
       "dtype:type, shape:shape, allowed_devices:strings=[]}",
        OP_KEEPS_STATE, infer_scalar),
    OP("_RestoredVariable!(value:dtype)->(ref:Ref(dtype)) {shape:shape, dtype:type, container:string=, "
       "shared_name:string=}",
        OP_INTERNAL | OP_KEEPS_STATE, infer_legacy),
    OP("_RestoredVariableV2!(value:dtype)->(ref:Ref(dtype)) {shape:shape, dtype:type, container:string=, "
       "shared_name:string=}",
        OP_INTERNAL | OP_KEEPS_STATE, infer_declared),
    OP("_RestoredVarHandleOp!(value:dtype)->(resource:resource) {container:string=, shared_name:string=, "
       "debug_name:string=, dtype:type, shape:shape, allowed_devices:strings=[]}",
        OP_INTERNAL | OP_KEEPS_STATE, infer_scalar),
    OP("TemporaryVariable!()->(ref:Ref(dtype)) {shape:shape, dtype:type, var_name:string=}", OP_STEP_LOCAL,
        infer_declared),
    OP("DestroyTemporaryVariable(ref:Ref(T))->(value:T) {T:type, var_name:string}", 0, infer_first),
    OP("IsVariableInitialized(ref:Ref(dtype))->(is_initialized:bool) {dtype:type}", 0, infer_scalar),
    OP("VarIsInitializedOp!(resource:resource)->(is_initialized:bool) {}", 0, infer_scalar),
    OP("ReadVariableOp!(resource:resource)->(value:dtype) {dtype:type}", 0, infer_unknown),
    OP("Assign(ref:Ref(T), value:T)->(output_ref:Ref(T)) {T:type, validate_shape:bool=true, "
       "use_locking:bool=true}",
        0, infer_assign),
    OP("AssignAdd(ref:Ref(T), value:T)->(output_ref:Ref(T)) {T:type, use_locking:bool=false}", 0,
        infer_first),
    OP("AssignSub(ref:Ref(T), value:T)->(output_ref:Ref(T)) {T:type, use_locking:bool=false}", 0,
        infer_first),
    OP("AssignVariableOp!(resource:resource, value:dtype)->() {dtype:type, validate_shape:bool=false}", 0,
        infer_unknown),
    OP("AssignAddVariableOp!(resource:resource, value:dtype)->() {dtype:type}", 0, infer_unknown),
    OP("AssignSubVariableOp!(resource:resource, value:dtype)->() {dtype:type}", 0, infer_unknown),
    OP("CountUpTo(ref:Ref(T))->(output:T) {limit:int, T:type}", 0, infer_scalar),
    OP("ResourceCountUpTo!(resource:resource)->(output:T) {limit:int, T:type}", 0, infer_scalar),
    OP("DestroyResourceOp!(resource:resource)->() {ignore_lookup_error:bool=true}", 0, infer_unknown),
    OP("VariableShape!(input:resource)->(output:out_type) {out_type:type=DT_INT32}", 0, infer_vector),
    OP("RefIdentity(input:Ref(T))->(output:Ref(T)) {T:type}", 0, infer_first),
    OP("ResourceGather!(resource:resource, indices:Tindices)->(output:dtype) {batch_dims:int=0, "
       "validate_indices:bool=true, dtype:type, Tindices:type}",
        0, infer_unknown),
    OP("ResourceGatherNd!(resource:resource, indices:Tindices)->(output:dtype) {dtype:type, Tindices:type}",
        0, infer_unknown),
};

OP_FAMILY(variable, variable_ops);
