/* The choice between functions of a partition's library, which only partitions contain: the bodies of
 * branches are called when they are taken. A scalar bool that is true takes the first of two; a scalar
 * int32 is the number of the branch, and takes the last when out of range. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

#define BRANCH                                                                                               \
    "(index:Tindex, inputs:Tin)->(outputs:Tout) {Tindex:type, Tin:types, Tout:types, branches:funcs}"

static const OpDefinition branch_ops[] = {
    OP("_Branch" BRANCH, OP_INTERNAL, infer_unknown),
    /* A branch that names the session's resources. */
    OP("_StateBranch!" BRANCH, OP_INTERNAL | OP_KEEPS_STATE, infer_unknown),
};

OP_FAMILY(branch, branch_ops);
