/* Strings of UTF-8 taken apart into characters and put together. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

/* The characters of all strings, one after the other, and where those of each begin. */
static Status
infer_decode(Call *call, InferContext *context)
{
    int64_t count = -1;
    int64_t splits = -1;
    if (shape_element_count(&context->inputs[0], &count)) {
        TRY(infer_add(call, count, 1, &splits));
    }
    context->outputs[0] = shape_vector(splits);
    context->outputs[1] = shape_vector(-1);
    return STATUS_OK;
}

static Status
infer_encode(Call *call, InferContext *context)
{
    Shape values;
    Shape splits;
    TRY(infer_rank(call, context, 0, 1, &values));
    TRY(infer_rank(call, context, 1, 1, &splits));
    if (splits.dims[0] == 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the splits have no element, not at least 1");
    }
    context->outputs[0] = shape_vector(splits.dims[0] < 0 ? -1 : splits.dims[0] - 1);
    return STATUS_OK;
}

#define ERRORS "errors:string=replace, replacement_char:int=65533"

static const OpDefinition unicode_ops[] = {
    OP("UnicodeDecode(input:string)->(row_splits:Tsplits, char_values:int32) {input_encoding:string, " ERRORS
       ", replace_control_characters:bool=false, Tsplits:type=DT_INT64}",
        0, infer_decode),
    OP("UnicodeEncode(input_values:int32, input_splits:Tsplits)->(output:string) {errors:string=replace, "
       "output_encoding:string, replacement_char:int=65533, Tsplits:type=DT_INT64}",
        0, infer_encode),
    OP("UnicodeTranscode(input:string)->(output:string) {input_encoding:string, "
       "output_encoding:string, " ERRORS ", replace_control_characters:bool=false}",
        0, infer_unchanged),
};

OP_FAMILY(strings_unicode, unicode_ops);
