/* Neighbouring strings joined to n-grams. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

/* `data_splits` has the bounds of the sequences, and the second output those of their n-grams. */
static Status
infer_ngrams(Call *call, InferContext *context)
{
    Shape data;
    Shape splits;
    TRY(infer_rank(call, context, 0, 1, &data));
    TRY(infer_rank(call, context, 1, 1, &splits));
    context->outputs[0] = shape_of_rank(1);
    context->outputs[1] = splits;
    return STATUS_OK;
}

static const OpDefinition string_ngrams_ops[] = {
    OP("StringNGrams(data:string, data_splits:Tsplits)->(ngrams:string, ngrams_splits:Tsplits) "
       "{separator:string, ngram_widths:list(int), left_pad:string, right_pad:string, pad_width:int, "
       "preserve_short_sequences:bool, Tsplits:type=DT_INT64}",
        0, infer_ngrams),
};

OP_FAMILY(strings_ngrams, string_ngrams_ops);
