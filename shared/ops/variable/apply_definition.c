/* What optimisers do to variables: one op, all variables of a parameter at once. Sparse forms change the rows
 * that indices name. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

/* The reference that went in; a handle comes out nowhere. */
static Status
infer_first(Call *call, InferContext *context)
{
    (void)call;
    if (context->node->output_count > 0) {
        context->outputs[0] = context->inputs[0];
    }
    return STATUS_OK;
}

static const OpDefinition variable_apply_ops[] = {
    {"ApplyGradientDescent(var:Ref(T), alpha:T, delta:T)->(out:Ref(T)) {T:type, "
     "use_locking:bool=false}",
        0, infer_first},
    {"ResourceApplyGradientDescent!(var:resource, alpha:T, delta:T)->() {T:type, "
     "use_locking:bool=false}",
        0, infer_first},
    {"ApplyProximalGradientDescent(var:Ref(T), alpha:T, l1:T, l2:T, delta:T)->(out:Ref(T)) {T:type, "
     "use_locking:bool=false}",
        0, infer_first},
    {"ResourceApplyProximalGradientDescent!(var:resource, alpha:T, l1:T, l2:T, delta:T)->() {T:type, "
     "use_locking:bool=false}",
        0, infer_first},
    {"SparseApplyProximalGradientDescent(var:Ref(T), alpha:T, l1:T, l2:T, grad:T, "
     "indices:Tindices)->(out:Ref(T)) {T:type, Tindices:type, use_locking:bool=false}",
        0, infer_first},
    {"ResourceSparseApplyProximalGradientDescent!(var:resource, alpha:T, l1:T, l2:T, grad:T, "
     "indices:Tindices)->() {T:type, Tindices:type, use_locking:bool=false}",
        0, infer_first},
    {"ApplyAdadelta(var:Ref(T), accum:Ref(T), accum_update:Ref(T), lr:T, rho:T, epsilon:T, "
     "grad:T)->(out:Ref(T)) {T:type, use_locking:bool=false}",
        0, infer_first},
    {"ResourceApplyAdadelta!(var:resource, accum:resource, accum_update:resource, lr:T, rho:T, "
     "epsilon:T, grad:T)->() {T:type, use_locking:bool=false}",
        0, infer_first},
    {"SparseApplyAdadelta(var:Ref(T), accum:Ref(T), accum_update:Ref(T), lr:T, rho:T, epsilon:T, "
     "grad:T, indices:Tindices)->(out:Ref(T)) {T:type, Tindices:type, use_locking:bool=false}",
        0, infer_first},
    {"ResourceSparseApplyAdadelta!(var:resource, accum:resource, accum_update:resource, lr:T, rho:T, "
     "epsilon:T, grad:T, indices:Tindices)->() {T:type, Tindices:type, use_locking:bool=false}",
        0, infer_first},
    {"ApplyAdagrad(var:Ref(T), accum:Ref(T), lr:T, grad:T)->(out:Ref(T)) {T:type, "
     "use_locking:bool=false, update_slots:bool=true}",
        0, infer_first},
    {"ResourceApplyAdagrad!(var:resource, accum:resource, lr:T, grad:T)->() {T:type, "
     "use_locking:bool=false, update_slots:bool=true}",
        0, infer_first},
    {"SparseApplyAdagrad(var:Ref(T), accum:Ref(T), lr:T, grad:T, indices:Tindices)->(out:Ref(T)) "
     "{T:type, Tindices:type, use_locking:bool=false, update_slots:bool=true}",
        0, infer_first},
    {"ResourceSparseApplyAdagrad!(var:resource, accum:resource, lr:T, grad:T, indices:Tindices)->() "
     "{T:type, Tindices:type, use_locking:bool=false, update_slots:bool=true}",
        0, infer_first},
    {"ApplyAdagradV2(var:Ref(T), accum:Ref(T), lr:T, epsilon:T, grad:T)->(out:Ref(T)) {T:type, "
     "use_locking:bool=false, update_slots:bool=true}",
        0, infer_first},
    {"ResourceApplyAdagradV2!(var:resource, accum:resource, lr:T, epsilon:T, grad:T)->() {T:type, "
     "use_locking:bool=false, update_slots:bool=true}",
        0, infer_first},
    {"SparseApplyAdagradV2(var:Ref(T), accum:Ref(T), lr:T, epsilon:T, grad:T, "
     "indices:Tindices)->(out:Ref(T)) {T:type, Tindices:type, use_locking:bool=false, "
     "update_slots:bool=true}",
        0, infer_first},
    {"ResourceSparseApplyAdagradV2!(var:resource, accum:resource, lr:T, epsilon:T, grad:T, "
     "indices:Tindices)->() {T:type, Tindices:type, use_locking:bool=false, update_slots:bool=true}",
        0, infer_first},
    {"ApplyProximalAdagrad(var:Ref(T), accum:Ref(T), lr:T, l1:T, l2:T, grad:T)->(out:Ref(T)) {T:type, "
     "use_locking:bool=false}",
        0, infer_first},
    {"ResourceApplyProximalAdagrad!(var:resource, accum:resource, lr:T, l1:T, l2:T, grad:T)->() "
     "{T:type, use_locking:bool=false}",
        0, infer_first},
    {"SparseApplyProximalAdagrad(var:Ref(T), accum:Ref(T), lr:T, l1:T, l2:T, grad:T, "
     "indices:Tindices)->(out:Ref(T)) {T:type, Tindices:type, use_locking:bool=false}",
        0, infer_first},
    {"ResourceSparseApplyProximalAdagrad!(var:resource, accum:resource, lr:T, l1:T, l2:T, grad:T, "
     "indices:Tindices)->() {T:type, Tindices:type, use_locking:bool=false}",
        0, infer_first},
    {"ApplyFtrl(var:Ref(T), accum:Ref(T), linear:Ref(T), grad:T, lr:T, l1:T, l2:T, "
     "lr_power:T)->(out:Ref(T)) {T:type, use_locking:bool=false, ~multiply_linear_by_lr:bool=false}",
        0, infer_first},
    {"ResourceApplyFtrl!(var:resource, accum:resource, linear:resource, grad:T, lr:T, l1:T, l2:T, "
     "lr_power:T)->() {T:type, use_locking:bool=false, ~multiply_linear_by_lr:bool=false}",
        0, infer_first},
    {"SparseApplyFtrl(var:Ref(T), accum:Ref(T), linear:Ref(T), grad:T, indices:Tindices, lr:T, l1:T, "
     "l2:T, lr_power:T)->(out:Ref(T)) {T:type, Tindices:type, use_locking:bool=false, "
     "~multiply_linear_by_lr:bool=false}",
        0, infer_first},
    {"ResourceSparseApplyFtrl!(var:resource, accum:resource, linear:resource, grad:T, "
     "indices:Tindices, lr:T, l1:T, l2:T, lr_power:T)->() {T:type, Tindices:type, "
     "use_locking:bool=false, ~multiply_linear_by_lr:bool=false}",
        0, infer_first},
    {"ApplyFtrlV2(var:Ref(T), accum:Ref(T), linear:Ref(T), grad:T, lr:T, l1:T, l2:T, l2_shrinkage:T, "
     "lr_power:T)->(out:Ref(T)) {T:type, use_locking:bool=false, ~multiply_linear_by_lr:bool=false}",
        0, infer_first},
    {"ResourceApplyFtrlV2!(var:resource, accum:resource, linear:resource, grad:T, lr:T, l1:T, l2:T, "
     "l2_shrinkage:T, lr_power:T)->() {T:type, use_locking:bool=false, ~multiply_linear_by_lr:bool=false}",
        0, infer_first},
    {"SparseApplyFtrlV2(var:Ref(T), accum:Ref(T), linear:Ref(T), grad:T, indices:Tindices, lr:T, l1:T,"
     " l2:T, l2_shrinkage:T, lr_power:T)->(out:Ref(T)) {T:type, Tindices:type, use_locking:bool=false, "
     "~multiply_linear_by_lr:bool=false}",
        0, infer_first},
    {"ResourceSparseApplyFtrlV2!(var:resource, accum:resource, linear:resource, grad:T, "
     "indices:Tindices, lr:T, l1:T, l2:T, l2_shrinkage:T, lr_power:T)->() {T:type, Tindices:type, "
     "use_locking:bool=false, ~multiply_linear_by_lr:bool=false}",
        0, infer_first},
    {"ApplyMomentum(var:Ref(T), accum:Ref(T), lr:T, grad:T, momentum:T)->(out:Ref(T)) {T:type, "
     "use_locking:bool=false, use_nesterov:bool=false}",
        0, infer_first},
    {"ResourceApplyMomentum!(var:resource, accum:resource, lr:T, grad:T, momentum:T)->() {T:type, "
     "use_locking:bool=false, use_nesterov:bool=false}",
        0, infer_first},
    {"SparseApplyMomentum(var:Ref(T), accum:Ref(T), lr:T, grad:T, indices:Tindices, "
     "momentum:T)->(out:Ref(T)) {T:type, Tindices:type, use_locking:bool=false, "
     "use_nesterov:bool=false}",
        0, infer_first},
    {"ResourceSparseApplyMomentum!(var:resource, accum:resource, lr:T, grad:T, indices:Tindices, "
     "momentum:T)->() {T:type, Tindices:type, use_locking:bool=false, use_nesterov:bool=false}",
        0, infer_first},
    {"ResourceApplyKerasMomentum!(var:resource, accum:resource, lr:T, grad:T, momentum:T)->() {T:type,"
     " use_locking:bool=false, use_nesterov:bool=false}",
        0, infer_first},
    {"ResourceSparseApplyKerasMomentum!(var:resource, accum:resource, lr:T, grad:T, indices:Tindices, "
     "momentum:T)->() {T:type, Tindices:type, use_locking:bool=false, use_nesterov:bool=false}",
        0, infer_first},
    {"ApplyAdam(var:Ref(T), m:Ref(T), v:Ref(T), beta1_power:T, beta2_power:T, lr:T, beta1:T, beta2:T, "
     "epsilon:T, grad:T)->(out:Ref(T)) {T:type, use_locking:bool=false, use_nesterov:bool=false}",
        0, infer_first},
    {"ResourceApplyAdam!(var:resource, m:resource, v:resource, beta1_power:T, beta2_power:T, lr:T, "
     "beta1:T, beta2:T, epsilon:T, grad:T)->() {T:type, use_locking:bool=false, "
     "use_nesterov:bool=false}",
        0, infer_first},
    {"ResourceApplyAdamWithAmsgrad!(var:resource, m:resource, v:resource, vhat:resource, "
     "beta1_power:T, beta2_power:T, lr:T, beta1:T, beta2:T, epsilon:T, grad:T)->() {T:type, "
     "use_locking:bool=false}",
        0, infer_first},
    {"ApplyAdaMax(var:Ref(T), m:Ref(T), v:Ref(T), beta1_power:T, lr:T, beta1:T, beta2:T, epsilon:T, "
     "grad:T)->(out:Ref(T)) {T:type, use_locking:bool=false}",
        0, infer_first},
    {"ResourceApplyAdaMax!(var:resource, m:resource, v:resource, beta1_power:T, lr:T, beta1:T, "
     "beta2:T, epsilon:T, grad:T)->() {T:type, use_locking:bool=false}",
        0, infer_first},
    {"ApplyRMSProp(var:Ref(T), ms:Ref(T), mom:Ref(T), lr:T, rho:T, momentum:T, epsilon:T, "
     "grad:T)->(out:Ref(T)) {T:type, use_locking:bool=false}",
        0, infer_first},
    {"ResourceApplyRMSProp!(var:resource, ms:resource, mom:resource, lr:T, rho:T, momentum:T, "
     "epsilon:T, grad:T)->() {T:type, use_locking:bool=false}",
        0, infer_first},
    {"SparseApplyRMSProp(var:Ref(T), ms:Ref(T), mom:Ref(T), lr:T, rho:T, momentum:T, epsilon:T, "
     "grad:T, indices:Tindices)->(out:Ref(T)) {T:type, Tindices:type, use_locking:bool=false}",
        0, infer_first},
    {"ResourceSparseApplyRMSProp!(var:resource, ms:resource, mom:resource, lr:T, rho:T, momentum:T, "
     "epsilon:T, grad:T, indices:Tindices)->() {T:type, Tindices:type, use_locking:bool=false}",
        0, infer_first},
    {"ApplyCenteredRMSProp(var:Ref(T), mg:Ref(T), ms:Ref(T), mom:Ref(T), lr:T, rho:T, momentum:T, "
     "epsilon:T, grad:T)->(out:Ref(T)) {T:type, use_locking:bool=false}",
        0, infer_first},
    {"ResourceApplyCenteredRMSProp!(var:resource, mg:resource, ms:resource, mom:resource, lr:T, rho:T,"
     " momentum:T, epsilon:T, grad:T)->() {T:type, use_locking:bool=false}",
        0, infer_first},
    {"SparseApplyCenteredRMSProp(var:Ref(T), mg:Ref(T), ms:Ref(T), mom:Ref(T), lr:T, rho:T, "
     "momentum:T, epsilon:T, grad:T, indices:Tindices)->(out:Ref(T)) {T:type, Tindices:type, "
     "use_locking:bool=false}",
        0, infer_first},
    {"ResourceSparseApplyCenteredRMSProp!(var:resource, mg:resource, ms:resource, mom:resource, lr:T, "
     "rho:T, momentum:T, epsilon:T, grad:T, indices:Tindices)->() {T:type, Tindices:type, "
     "use_locking:bool=false}",
        0, infer_first},
    {"ApplyAddSign(var:Ref(T), m:Ref(T), lr:T, alpha:T, sign_decay:T, beta:T, grad:T)->(out:Ref(T)) "
     "{T:type, use_locking:bool=false}",
        0, infer_first},
    {"ResourceApplyAddSign!(var:resource, m:resource, lr:T, alpha:T, sign_decay:T, beta:T, grad:T)->()"
     " {T:type, use_locking:bool=false}",
        0, infer_first},
    {"ApplyPowerSign(var:Ref(T), m:Ref(T), lr:T, logbase:T, sign_decay:T, beta:T, "
     "grad:T)->(out:Ref(T)) {T:type, use_locking:bool=false}",
        0, infer_first},
    {"ResourceApplyPowerSign!(var:resource, m:resource, lr:T, logbase:T, sign_decay:T, beta:T, "
     "grad:T)->() {T:type, use_locking:bool=false}",
        0, infer_first},
};

OP_FAMILY(variable_apply, variable_apply_ops);
