/* Random numbers. A node with two seeds of 0 gives other numbers in every run. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

static Status
infer_random(Call *call, InferContext *context)
{
    return infer_shape_input(call, context, 0);
}

static Status
infer_stateless(Call *call, InferContext *context)
{
    Shape seed;
    int64_t size = 0;
    TRY(infer_rank(call, context, 1, 1, &seed));
    TRY(infer_equal(call, seed.dims[0], 2, "the number of seeds", &size));
    return infer_random(call, context);
}

static Status
infer_multinomial(Call *call, InferContext *context)
{
    Shape logits;
    int64_t count = -1;
    bool is_known = false;
    TRY(infer_rank(call, context, 0, 2, &logits));
    TRY(infer_int(call, context, 1, &count, &is_known));
    if (is_known && count < 0) {
        return call_fail(
            call, STATUS_INVALID_ARGUMENT, "num_samples is %lld, not at least 0", (long long)count);
    }
    logits.dims[1] = is_known ? count : -1;
    context->outputs[0] = logits;
    return infer_check_size(call, &logits);
}

#define RANDOM(name)                                                                                         \
    OP(name "!(shape:T)->(output:dtype) {seed:int=0, seed2:int=0, dtype:type, T:type}", OP_RANDOM,           \
        infer_random)
#define STATELESS(name)                                                                                      \
    OP(name "(shape:T, seed:Tseed)->(output:dtype) {dtype:type=DT_FLOAT, T:type=DT_INT32, "                  \
            "Tseed:type=DT_INT64}",                                                                          \
        0, infer_stateless)

static const OpDefinition random_ops[] = {
    RANDOM("RandomUniform"),
    RANDOM("RandomStandardNormal"),
    RANDOM("TruncatedNormal"),
    STATELESS("StatelessRandomUniform"),
    STATELESS("StatelessRandomNormal"),
    STATELESS("StatelessTruncatedNormal"),
    OP("RandomUniformInt!(shape:T, minval:Tout, maxval:Tout)->(output:Tout) {seed:int=0, seed2:int=0, "
       "Tout:type, T:type}",
        OP_RANDOM, infer_random),
    OP("StatelessRandomUniformInt(shape:T, seed:Tseed, minval:dtype, maxval:dtype)->(output:dtype) "
       "{dtype:type, T:type, Tseed:type=DT_INT64}",
        0, infer_stateless),
    OP("RandomShuffle!(value:T)->(output:T) {seed:int=0, seed2:int=0, T:type}", OP_RANDOM, infer_unchanged),
    OP("Multinomial!(logits:T, num_samples:int32)->(output:output_dtype) {seed:int=0, seed2:int=0, T:type, "
       "output_dtype:type=DT_INT64}",
        OP_RANDOM, infer_multinomial),
};

OP_FAMILY(random, random_ops);
