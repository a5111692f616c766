/* Optimisers: one op changes all variables of a parameter at once. Sparse forms change the rows that
 * indices name. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

/* The output is the reference that was input; a handle has no output. */
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
    OP("ApplyGradientDescent(var:Ref(T), alpha:T, delta:T)->(out:Ref(T)) {T:type, use_locking:bool=false}", 0,
        infer_first),
    OP("ResourceApplyGradientDescent!(var:resource, alpha:T, delta:T)->() {T:type, use_locking:bool=false}",
        0, infer_first),
    OP("ApplyProximalGradientDescent(var:Ref(T), alpha:T, l1:T, l2:T, delta:T)->(out:Ref(T)) {T:type, "
       "use_locking:bool=false}",
        0, infer_first),
    OP("ResourceApplyProximalGradientDescent!(var:resource, alpha:T, l1:T, l2:T, delta:T)->() {T:type, "
       "use_locking:bool=false}",
        0, infer_first),
    OP("SparseApplyProximalGradientDescent(var:Ref(T), alpha:T, l1:T, l2:T, grad:T, "
       "indices:Tindices)->(out:Ref(T)) {T:type, Tindices:type, use_locking:bool=false}",
        0, infer_first),
    OP("ResourceSparseApplyProximalGradientDescent!(var:resource, alpha:T, l1:T, l2:T, grad:T, "
       "indices:Tindices)->() {T:type, Tindices:type, use_locking:bool=false}",
        0, infer_first),
    OP("ApplyAdadelta(var:Ref(T), accum:Ref(T), accum_update:Ref(T), lr:T, rho:T, epsilon:T, "
       "grad:T)->(out:Ref(T)) {T:type, use_locking:bool=false}",
        0, infer_first),
    OP("ResourceApplyAdadelta!(var:resource, accum:resource, accum_update:resource, lr:T, rho:T, epsilon:T, "
       "grad:T)->() {T:type, use_locking:bool=false}",
        0, infer_first),
    OP("SparseApplyAdadelta(var:Ref(T), accum:Ref(T), accum_update:Ref(T), lr:T, rho:T, epsilon:T, grad:T, "
       "indices:Tindices)->(out:Ref(T)) {T:type, Tindices:type, use_locking:bool=false}",
        0, infer_first),
    OP("ResourceSparseApplyAdadelta!(var:resource, accum:resource, accum_update:resource, lr:T, rho:T, "
       "epsilon:T, grad:T, indices:Tindices)->() {T:type, Tindices:type, use_locking:bool=false}",
        0, infer_first),
    OP("ApplyAdagrad(var:Ref(T), accum:Ref(T), lr:T, grad:T)->(out:Ref(T)) {T:type, use_locking:bool=false, "
       "update_slots:bool=true}",
        0, infer_first),
    OP("ResourceApplyAdagrad!(var:resource, accum:resource, lr:T, grad:T)->() {T:type, "
       "use_locking:bool=false, update_slots:bool=true}",
        0, infer_first),
    OP("SparseApplyAdagrad(var:Ref(T), accum:Ref(T), lr:T, grad:T, indices:Tindices)->(out:Ref(T)) {T:type, "
       "Tindices:type, use_locking:bool=false, update_slots:bool=true}",
        0, infer_first),
    OP("ResourceSparseApplyAdagrad!(var:resource, accum:resource, lr:T, grad:T, indices:Tindices)->() "
       "{T:type, Tindices:type, use_locking:bool=false, update_slots:bool=true}",
        0, infer_first),
    OP("ApplyAdagradV2(var:Ref(T), accum:Ref(T), lr:T, epsilon:T, grad:T)->(out:Ref(T)) {T:type, "
       "use_locking:bool=false, update_slots:bool=true}",
        0, infer_first),
    OP("ResourceApplyAdagradV2!(var:resource, accum:resource, lr:T, epsilon:T, grad:T)->() {T:type, "
       "use_locking:bool=false, update_slots:bool=true}",
        0, infer_first),
    OP("SparseApplyAdagradV2(var:Ref(T), accum:Ref(T), lr:T, epsilon:T, grad:T, "
       "indices:Tindices)->(out:Ref(T)) {T:type, Tindices:type, use_locking:bool=false, "
       "update_slots:bool=true}",
        0, infer_first),
    OP("ResourceSparseApplyAdagradV2!(var:resource, accum:resource, lr:T, epsilon:T, grad:T, "
       "indices:Tindices)->() {T:type, Tindices:type, use_locking:bool=false, update_slots:bool=true}",
        0, infer_first),
    OP("ApplyProximalAdagrad(var:Ref(T), accum:Ref(T), lr:T, l1:T, l2:T, grad:T)->(out:Ref(T)) {T:type, "
       "use_locking:bool=false}",
        0, infer_first),
    OP("ResourceApplyProximalAdagrad!(var:resource, accum:resource, lr:T, l1:T, l2:T, grad:T)->() {T:type, "
       "use_locking:bool=false}",
        0, infer_first),
    OP("SparseApplyProximalAdagrad(var:Ref(T), accum:Ref(T), lr:T, l1:T, l2:T, grad:T, "
       "indices:Tindices)->(out:Ref(T)) {T:type, Tindices:type, use_locking:bool=false}",
        0, infer_first),
    OP("ResourceSparseApplyProximalAdagrad!(var:resource, accum:resource, lr:T, l1:T, l2:T, grad:T, "
       "indices:Tindices)->() {T:type, Tindices:type, use_locking:bool=false}",
        0, infer_first),
    OP("ApplyFtrl(var:Ref(T), accum:Ref(T), linear:Ref(T), grad:T, lr:T, l1:T, l2:T, "
       "lr_power:T)->(out:Ref(T)) {T:type, use_locking:bool=false, ~multiply_linear_by_lr:bool=false}",
        0, infer_first),
    OP("ResourceApplyFtrl!(var:resource, accum:resource, linear:resource, grad:T, lr:T, l1:T, l2:T, "
       "lr_power:T)->() {T:type, use_locking:bool=false, ~multiply_linear_by_lr:bool=false}",
        0, infer_first),
    OP("SparseApplyFtrl(var:Ref(T), accum:Ref(T), linear:Ref(T), grad:T, indices:Tindices, lr:T, l1:T, l2:T, "
       "lr_power:T)->(out:Ref(T)) {T:type, Tindices:type, use_locking:bool=false, "
       "~multiply_linear_by_lr:bool=false}",
        0, infer_first),
    OP("ResourceSparseApplyFtrl!(var:resource, accum:resource, linear:resource, grad:T, indices:Tindices, "
       "lr:T, l1:T, l2:T, lr_power:T)->() {T:type, Tindices:type, use_locking:bool=false, "
       "~multiply_linear_by_lr:bool=false}",
        0, infer_first),
    OP("ApplyFtrlV2(var:Ref(T), accum:Ref(T), linear:Ref(T), grad:T, lr:T, l1:T, l2:T, l2_shrinkage:T, "
       "lr_power:T)->(out:Ref(T)) {T:type, use_locking:bool=false, ~multiply_linear_by_lr:bool=false}",
        0, infer_first),
    OP("ResourceApplyFtrlV2!(var:resource, accum:resource, linear:resource, grad:T, lr:T, l1:T, l2:T, "
       "l2_shrinkage:T, lr_power:T)->() {T:type, use_locking:bool=false, ~multiply_linear_by_lr:bool=false}",
        0, infer_first),
    OP("SparseApplyFtrlV2(var:Ref(T), accum:Ref(T), linear:Ref(T), grad:T, indices:Tindices, lr:T, l1:T, "
       "l2:T, l2_shrinkage:T, lr_power:T)->(out:Ref(T)) {T:type, Tindices:type, use_locking:bool=false, "
       "~multiply_linear_by_lr:bool=false}",
        0, infer_first),
    OP("ResourceSparseApplyFtrlV2!(var:resource, accum:resource, linear:resource, grad:T, indices:Tindices, "
       "lr:T, l1:T, l2:T, l2_shrinkage:T, lr_power:T)->() {T:type, Tindices:type, use_locking:bool=false, "
       "~multiply_linear_by_lr:bool=false}",
        0, infer_first),
    OP("ApplyMomentum(var:Ref(T), accum:Ref(T), lr:T, grad:T, momentum:T)->(out:Ref(T)) {T:type, "
       "use_locking:bool=false, use_nesterov:bool=false}",
        0, infer_first),
    OP("ResourceApplyMomentum!(var:resource, accum:resource, lr:T, grad:T, momentum:T)->() {T:type, "
       "use_locking:bool=false, use_nesterov:bool=false}",
        0, infer_first),
    OP("SparseApplyMomentum(var:Ref(T), accum:Ref(T), lr:T, grad:T, indices:Tindices, "
       "momentum:T)->(out:Ref(T)) {T:type, Tindices:type, use_locking:bool=false, use_nesterov:bool=false}",
        0, infer_first),
    OP("ResourceSparseApplyMomentum!(var:resource, accum:resource, lr:T, grad:T, indices:Tindices, "
       "momentum:T)->() {T:type, Tindices:type, use_locking:bool=false, use_nesterov:bool=false}",
        0, infer_first),
    OP("ResourceApplyKerasMomentum!(var:resource, accum:resource, lr:T, grad:T, momentum:T)->() {T:type, "
       "use_locking:bool=false, use_nesterov:bool=false}",
        0, infer_first),
    OP("ResourceSparseApplyKerasMomentum!(var:resource, accum:resource, lr:T, grad:T, indices:Tindices, "
       "momentum:T)->() {T:type, Tindices:type, use_locking:bool=false, use_nesterov:bool=false}",
        0, infer_first),
    OP("ApplyAdam(var:Ref(T), m:Ref(T), v:Ref(T), beta1_power:T, beta2_power:T, lr:T, beta1:T, beta2:T, "
       "epsilon:T, grad:T)->(out:Ref(T)) {T:type, use_locking:bool=false, use_nesterov:bool=false}",
        0, infer_first),
    OP("ResourceApplyAdam!(var:resource, m:resource, v:resource, beta1_power:T, beta2_power:T, lr:T, "
       "beta1:T, beta2:T, epsilon:T, grad:T)->() {T:type, use_locking:bool=false, use_nesterov:bool=false}",
        0, infer_first),
    OP("ResourceApplyAdamWithAmsgrad!(var:resource, m:resource, v:resource, vhat:resource, beta1_power:T, "
       "beta2_power:T, lr:T, beta1:T, beta2:T, epsilon:T, grad:T)->() {T:type, use_locking:bool=false}",
        0, infer_first),
    OP("ApplyAdaMax(var:Ref(T), m:Ref(T), v:Ref(T), beta1_power:T, lr:T, beta1:T, beta2:T, epsilon:T, "
       "grad:T)->(out:Ref(T)) {T:type, use_locking:bool=false}",
        0, infer_first),
    OP("ResourceApplyAdaMax!(var:resource, m:resource, v:resource, beta1_power:T, lr:T, beta1:T, beta2:T, "
       "epsilon:T, grad:T)->() {T:type, use_locking:bool=false}",
        0, infer_first),
    OP("ApplyRMSProp(var:Ref(T), ms:Ref(T), mom:Ref(T), lr:T, rho:T, momentum:T, epsilon:T, "
       "grad:T)->(out:Ref(T)) {T:type, use_locking:bool=false}",
        0, infer_first),
    OP("ResourceApplyRMSProp!(var:resource, ms:resource, mom:resource, lr:T, rho:T, momentum:T, epsilon:T, "
       "grad:T)->() {T:type, use_locking:bool=false}",
        0, infer_first),
    OP("SparseApplyRMSProp(var:Ref(T), ms:Ref(T), mom:Ref(T), lr:T, rho:T, momentum:T, epsilon:T, grad:T, "
       "indices:Tindices)->(out:Ref(T)) {T:type, Tindices:type, use_locking:bool=false}",
        0, infer_first),
    OP("ResourceSparseApplyRMSProp!(var:resource, ms:resource, mom:resource, lr:T, rho:T, momentum:T, "
       "epsilon:T, grad:T, indices:Tindices)->() {T:type, Tindices:type, use_locking:bool=false}",
        0, infer_first),
    OP("ApplyCenteredRMSProp(var:Ref(T), mg:Ref(T), ms:Ref(T), mom:Ref(T), lr:T, rho:T, momentum:T, "
       "epsilon:T, grad:T)->(out:Ref(T)) {T:type, use_locking:bool=false}",
        0, infer_first),
    OP("ResourceApplyCenteredRMSProp!(var:resource, mg:resource, ms:resource, mom:resource, lr:T, rho:T, "
       "momentum:T, epsilon:T, grad:T)->() {T:type, use_locking:bool=false}",
        0, infer_first),
    OP("SparseApplyCenteredRMSProp(var:Ref(T), mg:Ref(T), ms:Ref(T), mom:Ref(T), lr:T, rho:T, momentum:T, "
       "epsilon:T, grad:T, indices:Tindices)->(out:Ref(T)) {T:type, Tindices:type, use_locking:bool=false}",
        0, infer_first),
    OP("ResourceSparseApplyCenteredRMSProp!(var:resource, mg:resource, ms:resource, mom:resource, lr:T, "
       "rho:T, momentum:T, epsilon:T, grad:T, indices:Tindices)->() {T:type, Tindices:type, "
       "use_locking:bool=false}",
        0, infer_first),
    OP("ApplyAddSign(var:Ref(T), m:Ref(T), lr:T, alpha:T, sign_decay:T, beta:T, grad:T)->(out:Ref(T)) "
       "{T:type, use_locking:bool=false}",
        0, infer_first),
    OP("ResourceApplyAddSign!(var:resource, m:resource, lr:T, alpha:T, sign_decay:T, beta:T, grad:T)->() "
       "{T:type, use_locking:bool=false}",
        0, infer_first),
    OP("ApplyPowerSign(var:Ref(T), m:Ref(T), lr:T, logbase:T, sign_decay:T, beta:T, grad:T)->(out:Ref(T)) "
       "{T:type, use_locking:bool=false}",
        0, infer_first),
    OP("ResourceApplyPowerSign!(var:resource, m:resource, lr:T, logbase:T, sign_decay:T, beta:T, grad:T)->() "
       "{T:type, use_locking:bool=false}",
        0, infer_first),
};

OP_FAMILY(variable_apply, variable_apply_ops);
