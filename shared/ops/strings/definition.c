/* Strings joined, changed, and converted from and to numbers. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

/* Scalars are repeated; all other inputs have one shape. */
static Status
infer_join(Call *call, InferContext *context)
{
    Shape result = shape_scalar();
    bool is_known = true;
    for (uint32_t index = 0; index < context->node->input_count; index++) {
        const Shape *input = &context->inputs[index];
        if (input->rank == 0) {
            continue;
        }
        is_known = is_known && input->rank > 0;
        if (result.rank == 0) {
            result = *input;
        } else if (!shape_merge(&result, input, &result)) {
            char left[SHAPE_TEXT_SIZE];
            char right[SHAPE_TEXT_SIZE];
            return call_fail(call, STATUS_INVALID_ARGUMENT,
                "strings of shape %s are joined with some of shape %s", shape_text(input, left),
                shape_text(&result, right));
        }
    }
    context->outputs[0] = is_known ? result : shape_unknown();
    return STATUS_OK;
}

static const OpDefinition strings_ops[] = {
    OP("StringJoin(inputs:N*string)->(output:string) {N:int>=1, separator:string=}", 0, infer_join),
    OP("StringLength(input:string)->(output:int32) {unit:string=BYTE}", 0, infer_unchanged),
    OP("StringLower(input:string)->(output:string) {encoding:string=}", 0, infer_unchanged),
    OP("StringUpper(input:string)->(output:string) {encoding:string=}", 0, infer_unchanged),
    OP("StringStrip(input:string)->(output:string) {}", 0, infer_unchanged),
    OP("StringToNumber(string_tensor:string)->(output:out_type) {out_type:type=DT_FLOAT}", 0,
        infer_unchanged),
    OP("AsString(input:T)->(output:string) {T:type, precision:int=-1, scientific:bool=false, "
       "shortest:bool=false, width:int=-1, fill:string=}",
        0, infer_unchanged),
};

OP_FAMILY(strings, strings_ops);
