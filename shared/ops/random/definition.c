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

/* The key is one number, the counter two. */
static Status
infer_keyed(Call *call, InferContext *context)
{
    Shape key;
    Shape counter;
    Shape algorithm;
    int64_t size = 0;
    TRY(infer_rank(call, context, 1, 1, &key));
    TRY(infer_equal(call, key.dims[0], 1, "the size of the key", &size));
    TRY(infer_rank(call, context, 2, 1, &counter));
    TRY(infer_equal(call, counter.dims[0], 2, "the size of the counter", &size));
    TRY(infer_rank(call, context, 3, 0, &algorithm));
    return infer_random(call, context);
}

static Status
infer_key_and_counter(Call *call, InferContext *context)
{
    Shape seed;
    int64_t size = 0;
    TRY(infer_rank(call, context, 0, 1, &seed));
    TRY(infer_equal(call, seed.dims[0], 2, "the number of seeds", &size));
    context->outputs[0] = shape_vector(1);
    context->outputs[1] = shape_vector(2);
    return STATUS_OK;
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
#define KEYED(name, bounds, attrs)                                                                           \
    OP(name "(shape:Tshape, key:uint64, counter:uint64, alg:int32" bounds ")->(output:dtype) {" attrs        \
            ", Tshape:type=DT_INT32}",                                                                       \
        0, infer_keyed)

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
    OP("StatelessRandomGetKeyCounter(seed:Tseed)->(key:uint64, counter:uint64) {Tseed:type=DT_INT64}", 0,
        infer_key_and_counter),
    KEYED("StatelessRandomUniformV2", "", "dtype:type=DT_FLOAT"),
    KEYED("StatelessRandomNormalV2", "", "dtype:type=DT_FLOAT"),
    KEYED("StatelessTruncatedNormalV2", "", "dtype:type=DT_FLOAT"),
    KEYED("StatelessRandomUniformIntV2", ", minval:dtype, maxval:dtype", "dtype:type"),
    OP("RandomShuffle!(value:T)->(output:T) {seed:int=0, seed2:int=0, T:type}", OP_RANDOM, infer_unchanged),
    OP("Multinomial!(logits:T, num_samples:int32)->(output:output_dtype) {seed:int=0, seed2:int=0, T:type, "
       "output_dtype:type=DT_INT64}",
        OP_RANDOM, infer_multinomial),
};

OP_FAMILY(random, random_ops);
