/* Support vector machines (ai.onnx.ml). */
#include "shared/ops/family.h"
#include "shared/ops/support_vectors/rule.h"

/* A vector is one row. */
static int64_t
count_rows(const Shape *rows)
{
    return rows->rank == 1 ? 1 : rows->rank == 2 ? rows->dims[0] : -1;
}

static Status
infer_regressor(Call *call, InferContext *context)
{
    SvmMachine machine;
    TRY(svm_read_regressor(call, context, &machine));
    context->outputs[0] = (Shape){.rank = 2, .dims = {count_rows(&context->inputs[0]), 1}};
    return STATUS_OK;
}

static Status
infer_scores(Call *call, InferContext *context)
{
    SvmMachine machine;
    TRY(svm_read_classifier(call, context, &machine));
    int64_t rows = count_rows(&context->inputs[0]);
    context->outputs[0] = shape_vector(rows);
    context->outputs[1] = (Shape){.rank = 2, .dims = {rows, svm_score_count(&machine)}};
    return infer_check_size(call, &context->outputs[1]);
}

static const OpDefinition support_vectors_ops[] = {
    OP("ai.onnx.ml::SVMRegressor(X:T)->(Y:float) {coefficients:list(float), kernel_params:list(float)=[], "
       "kernel_type:string=LINEAR, n_supports:int=0, one_class:int=0, ~post_transform:string=NONE, "
       "rho:list(float), support_vectors:list(float)=[], T:type}",
        0, infer_regressor),
    OP("ai.onnx.ml::_SvmScores(X:T)->(positions:int64, scores:float) {coefficients:list(float), "
       "kernel_params:list(float)=[], kernel_type:string=LINEAR, prob_a:list(float)=[], "
       "prob_b:list(float)=[], rho:list(float), support_vectors:list(float), vectors_per_class:list(int), "
       "T:type}",
        0, infer_scores),
};

OP_FAMILY(support_vectors, support_vectors_ops);
