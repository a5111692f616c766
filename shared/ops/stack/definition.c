/* Stacks that live as long as a step: the gradient of a loop pops the values that the loop pushed. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

static Status
infer_pushed(Call *call, InferContext *context)
{
    (void)call;
    context->outputs[0] = context->inputs[1];
    return STATUS_OK;
}

static const OpDefinition stack_ops[] = {
    OP("StackV2!(max_size:int32)->(handle:resource) {elem_type:type, stack_name:string=}", OP_STEP_LOCAL,
        infer_scalar),
    OP("StackPushV2!(handle:resource, elem:T)->(output:T) {T:type, swap_memory:bool=false}", OP_STEP_LOCAL,
        infer_pushed),
    OP("StackPopV2!(handle:resource)->(elem:elem_type) {elem_type:type}", OP_STEP_LOCAL, infer_unknown),
    OP("StackCloseV2!(handle:resource)->() {}", OP_STEP_LOCAL, infer_unknown),
};

OP_FAMILY(stack, stack_ops);
