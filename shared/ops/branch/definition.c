/* What only partitions contain: a choice between functions of the partition's library, the bodies of branches
 * that are called when they are taken. A scalar bool takes the first of two when it is true; a scalar int32
 * is the number of the branch, out of range the last. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

#define BRANCH                                                                                               \
    "(index:Tindex, inputs:Tin)->(outputs:Tout) {Tindex:type, Tin:types, Tout:types, branches:funcs}"

static const OpDefinition branch_ops[] = {
    OP("_Branch" BRANCH, 0, infer_unknown),
    /* One that names what the session keeps. */
    OP("_StateBranch!" BRANCH, OP_KEEPS_STATE, infer_unknown),
};

OP_FAMILY(branch, branch_ops);
