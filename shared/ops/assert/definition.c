/* Checks of values while a graph runs. They have no outputs and exist to fail the step; a step with them
 * may be tried again. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

static Status
infer_assert(Call *call, InferContext *context)
{
    Shape condition;
    return infer_rank(call, context, 0, 0, &condition);
}

static const OpDefinition assert_ops[] = {
    OP("Assert!(condition:bool, data:T)->() {T:list(type), summarize:int=3}", OP_STEP_LOCAL, infer_assert),
};

OP_FAMILY(assert, assert_ops);
