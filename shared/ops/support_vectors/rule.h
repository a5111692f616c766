/* Support vector machines (ai.onnx.ml): what shape rules and kernels both ask. Threads: any. */
#pragma once

#include "shared/ops/infer.h"

typedef enum SvmKernel { SVM_LINEAR, SVM_POLY, SVM_RBF, SVM_SIGMOID } SvmKernel;

typedef struct SvmMachine {
    SvmKernel kernel;
    double gamma;
    double addend; /* coef0 */
    double degree;
    int64_t vectors;  /* support vectors; 0: the coefficients are those of the features */
    int64_t features; /* of a vector and of a row */
    int64_t classes;  /* 0: a regression */
    int64_t pairs;    /* of classes, each with a score */
    bool has_probabilities;
} SvmMachine;

/* Read the attributes, and check that lists have the sizes that fit, and rows the features.
 * INVALID_ARGUMENT when they do not. */
MUST_USE Status svm_read_regressor(Call *call, const InferContext *context, SvmMachine *ret_machine);
MUST_USE Status svm_read_classifier(Call *call, const InferContext *context, SvmMachine *ret_machine);

/* Returns how many scores a row has: of classes with probabilities, else of two classes both scores, else of
 * pairs. */
int64_t svm_score_count(const SvmMachine *machine);
