/* Parts of variables, written by index. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

/* The output is the reference that was input; a handle has no output. */
static Status
infer_reference(Call *call, InferContext *context)
{
    (void)call;
    if (context->node->output_count > 0) {
        context->outputs[0] = context->inputs[0];
    }
    return STATUS_OK;
}

#define REFERENCE_SCATTER(name, locking)                                                                     \
    OP(name "(ref:Ref(T), indices:Tindices, updates:T)->(output_ref:Ref(T)) {T:type, Tindices:type, "        \
            "use_locking:bool=" locking ", ~bad_indices_policy:string=}",                                    \
        0, infer_reference)

#define RESOURCE_SCATTER(name)                                                                               \
    OP(name "!(resource:resource, indices:Tindices, updates:dtype)->() {dtype:type, Tindices:type}", 0,      \
        infer_reference)

#define RESOURCE_SCATTER_ND(name)                                                                            \
    OP(name "!(ref:resource, indices:Tindices, updates:T)->() {T:type, Tindices:type, "                      \
            "use_locking:bool=true, ~bad_indices_policy:string=}",                                           \
        0, infer_reference)

static const OpDefinition variable_scatter_ops[] = {
    REFERENCE_SCATTER("ScatterUpdate", "true"),
    REFERENCE_SCATTER("ScatterAdd", "false"),
    REFERENCE_SCATTER("ScatterSub", "false"),
    REFERENCE_SCATTER("ScatterMul", "false"),
    REFERENCE_SCATTER("ScatterDiv", "false"),
    REFERENCE_SCATTER("ScatterMin", "false"),
    REFERENCE_SCATTER("ScatterMax", "false"),
    REFERENCE_SCATTER("ScatterNdUpdate", "true"),
    REFERENCE_SCATTER("ScatterNdAdd", "false"),
    REFERENCE_SCATTER("ScatterNdSub", "false"),
    RESOURCE_SCATTER("ResourceScatterUpdate"),
    RESOURCE_SCATTER("ResourceScatterAdd"),
    RESOURCE_SCATTER("ResourceScatterSub"),
    RESOURCE_SCATTER("ResourceScatterMul"),
    RESOURCE_SCATTER("ResourceScatterDiv"),
    RESOURCE_SCATTER("ResourceScatterMin"),
    RESOURCE_SCATTER("ResourceScatterMax"),
    RESOURCE_SCATTER_ND("ResourceScatterNdUpdate"),
    RESOURCE_SCATTER_ND("ResourceScatterNdAdd"),
    RESOURCE_SCATTER_ND("ResourceScatterNdSub"),
};

OP_FAMILY(variable_scatter, variable_scatter_ops);
