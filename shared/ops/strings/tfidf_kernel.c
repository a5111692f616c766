/* ONNX's TfIdfVectorizer: counts the n-grams of each row that a pool lists. The pool is a table that each run
 * makes anew. */
#include "shared/base/map.h"
#include "shared/ops/strings/tfidf_rule.h"
#include "worker/reference/fill.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"
#include "worker/reference/texts.h"

typedef struct Vectorizer {
    Map *pool;      /* an n-gram's bytes → its number, one of `numbers` */
    Tensor numbers; /* int64, of the pool's n-grams */
    Tensor counts;  /* int64, of each n-gram in a row */
    Buffer key;     /* the n-gram that is looked up */
    bool has_strings;
    const Tensor *input;
    const AttrValue *items;   /* the pool's, one n-gram after the other */
    const AttrValue *indexes; /* ngram_indexes: where an n-gram's number goes */
    const AttrValue *weights; /* of the n-grams; NULL: 1 */
    bool is_counted;          /* or else an n-gram is there or is not */
    int64_t shortest;
    int64_t longest;
    int64_t skips;
} Vectorizer;

/* Items of the pool that are n-grams of one length. */
typedef struct PoolPart {
    int64_t first;
    int64_t end;
    int64_t length;
} PoolPart;

static void
vectorizer_done(Vectorizer *vectorizer)
{
    map_free(vectorizer->pool);
    tensor_unref(&vectorizer->numbers);
    tensor_unref(&vectorizer->counts);
    buffer_done(&vectorizer->key);
}

/* Appends an item so that no two n-grams have the same bytes. */
static void
add_string(Vectorizer *vectorizer, Slice string)
{
    uint64_t size = string.size;
    buffer_append(&vectorizer->key, &size, sizeof size);
    buffer_append_slice(&vectorizer->key, string);
}

static void
add_element(Vectorizer *vectorizer, int64_t n)
{
    int64_t number = 0;
    if (vectorizer->has_strings) {
        add_string(vectorizer, string_at(vectorizer->input, n));
    } else if (tensor_to_int64(vectorizer->input, n, &number)) {
        buffer_append(&vectorizer->key, &number, sizeof number);
    }
}

/* Notes an n-gram of `length` items of the pool. */
static bool
add_ngram(Vectorizer *vectorizer, const AttrValue *items, int64_t length, int64_t *number)
{
    buffer_clear(&vectorizer->key);
    for (int64_t n = 0; n < length; n++) {
        if (vectorizer->has_strings) {
            add_string(vectorizer, items[n].value.s);
        } else {
            buffer_append(&vectorizer->key, &items[n].value.i, sizeof items[n].value.i);
        }
    }
    return buffer_is_ok(&vectorizer->key) &&
           map_put(vectorizer->pool, buffer_slice(&vectorizer->key), number);
}

/* Notes the n-grams of `length` items from `first` to `end` of the pool; *found counts those before. */
static Status
read_ngrams(const KernelContext *context, Vectorizer *vectorizer, PoolPart part, size_t *found)
{
    int64_t *numbers = vectorizer->numbers.data;
    for (int64_t first = part.first; first < part.end; first += part.length) {
        if (*found == vectorizer->indexes->value.list.count) {
            return call_fail(context->call, STATUS_INVALID_ARGUMENT,
                "the pool has more n-grams than ngram_indexes, %zu", *found);
        }
        numbers[*found] = (int64_t)*found;
        if (!add_ngram(
                vectorizer, vectorizer->items->value.list.items + first, part.length, &numbers[*found])) {
            return call_fail_memory(context->call, "a pool of n-grams");
        }
        ++*found;
    }
    return STATUS_OK;
}

/* Reads the pool: ngram_counts has where the 1-grams, the 2-grams and so on begin. */
static Status
read_pool(KernelContext *context, Vectorizer *vectorizer)
{
    const AttrValue *counts = node_attr(context->node, "ngram_counts");
    int64_t total = (int64_t)vectorizer->items->value.list.count;
    size_t found = 0;
    vectorizer->pool = map_new();
    if (vectorizer->pool == NULL) {
        return call_fail_memory(context->call, "a pool of n-grams");
    }
    int64_t ngrams = (int64_t)vectorizer->indexes->value.list.count;
    TRY(scratch_array(context, ngrams, sizeof(int64_t), &vectorizer->numbers));
    TRY(scratch_array(context, ngrams, sizeof(int64_t), &vectorizer->counts));
    for (size_t n = 0; n < counts->value.list.count; n++) {
        bool is_last = n + 1 == counts->value.list.count;
        PoolPart part = {.first = counts->value.list.items[n].value.i,
            .end = is_last ? total : counts->value.list.items[n + 1].value.i,
            .length = (int64_t)n + 1};
        if (part.first < 0 || part.end < part.first || part.end > total ||
            (part.end - part.first) % part.length != 0) {
            return call_fail(context->call, STATUS_INVALID_ARGUMENT,
                "items %lld to %lld of a pool of %lld are no n-grams of %lld items", (long long)part.first,
                (long long)part.end, (long long)total, (long long)part.length);
        }
        TRY(read_ngrams(context, vectorizer, part, &found));
    }
    vectorizer->longest = vectorizer->longest < (int64_t)counts->value.list.count
                              ? vectorizer->longest
                              : (int64_t)counts->value.list.count;
    return STATUS_OK;
}

static Status
read_attributes(const KernelContext *context, Vectorizer *vectorizer)
{
    const Node *node = context->node;
    vectorizer->input = &context->inputs[0];
    vectorizer->has_strings = vectorizer->input->dtype == DTYPE_STRING;
    vectorizer->items = node_attr(node, vectorizer->has_strings ? "pool_strings" : "pool_int64s");
    vectorizer->indexes = node_attr(node, "ngram_indexes");
    vectorizer->shortest = node_attr_int(node, "min_gram_length");
    vectorizer->longest = node_attr_int(node, "max_gram_length");
    vectorizer->skips = node_attr_int(node, "max_skip_count");
    if (vectorizer->shortest < 1 || vectorizer->longest < vectorizer->shortest || vectorizer->skips < 0) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT,
            "n-grams of %lld to %lld items with up to %lld skipped are not to be had",
            (long long)vectorizer->shortest, (long long)vectorizer->longest, (long long)vectorizer->skips);
    }
    return STATUS_OK;
}

/* Counts the n-grams of `length` items, each `distance` behind the one before, of a row. */
static void
count_ngrams(Vectorizer *vectorizer, int64_t row, int64_t columns, int64_t length, int64_t distance)
{
    int64_t reach = (length - 1) * distance;
    int64_t *counts = vectorizer->counts.data;
    for (int64_t first = 0; first + reach < columns; first++) {
        buffer_clear(&vectorizer->key);
        for (int64_t n = 0; n < length; n++) {
            add_element(vectorizer, row * columns + first + n * distance);
        }
        const int64_t *ngram = map_get(vectorizer->pool, buffer_slice(&vectorizer->key));
        if (ngram != NULL) {
            counts[*ngram]++;
        }
    }
}

/* 1-grams are the same whatever is skipped. */
static void
count_row(Vectorizer *vectorizer, int64_t row, int64_t columns)
{
    for (int64_t length = vectorizer->shortest; length <= vectorizer->longest && length <= columns;
         length++) {
        int64_t skips = length == 1 ? 0 : vectorizer->skips;
        for (int64_t skip = 0; skip <= skips && skip < columns; skip++) {
            count_ngrams(vectorizer, row, columns, length, skip + 1);
        }
    }
}

/* Adds each n-gram's count, or 1 for any, times its weight to its place; the counts begin anew. */
static void
write_row(const Vectorizer *vectorizer, float *output)
{
    int64_t *counts = vectorizer->counts.data;
    const AttrValue *weights = vectorizer->weights;
    for (size_t ngram = 0; ngram < vectorizer->indexes->value.list.count; ngram++) {
        float weight = weights == NULL ? 1 : weights->value.list.items[ngram].value.f;
        float count = vectorizer->is_counted ? (float)counts[ngram] : 1;
        if (counts[ngram] > 0) {
            output[vectorizer->indexes->value.list.items[ngram].value.i] += count * weight;
        }
        counts[ngram] = 0;
    }
}

static Status
read_mode(const KernelContext *context, Vectorizer *vectorizer)
{
    Slice mode = node_attr_string(context->node, "mode");
    const AttrValue *weights = node_attr(context->node, "weights");
    size_t given = weights->value.list.count;
    bool is_plain = slice_equals_string(mode, "TF");
    vectorizer->is_counted = !slice_equals_string(mode, "IDF");
    vectorizer->weights = is_plain || given == 0 ? NULL : weights;
    if (!is_plain && vectorizer->is_counted && !slice_equals_string(mode, "TFIDF")) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT, "mode is '%.*s', not 'TF', 'IDF' or 'TFIDF'",
            SLICE_PRINT(slice_part(mode, 0, 64)));
    }
    return given == 0 || given == vectorizer->indexes->value.list.count
               ? STATUS_OK
               : call_fail(context->call, STATUS_INVALID_ARGUMENT, "there are %zu weights for %zu n-grams",
                     given, vectorizer->indexes->value.list.count);
}

static Status
tfidf_compute(KernelContext *context)
{
    CLEANUP(vectorizer_done) Vectorizer vectorizer = {.pool = NULL};
    const Shape *shape = &context->inputs[0].shape;
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    TRY(read_attributes(context, &vectorizer));
    TRY(read_mode(context, &vectorizer));
    TRY(read_pool(context, &vectorizer));
    fill_zero(output);
    int64_t rows = shape->rank == 2 ? shape->dims[0] : 1;
    int64_t columns = shape->rank == 0 ? 1 : shape->dims[shape->rank - 1];
    int64_t size = output->shape.dims[output->shape.rank - 1];
    for (int64_t row = 0; row < rows; row++) {
        count_row(&vectorizer, row, columns);
        write_row(&vectorizer, (float *)output->data + row * size);
    }
    return buffer_is_ok(&vectorizer.key) ? STATUS_OK : call_fail_memory(context->call, "n-grams");
}

static bool
tfidf_supports(const Node *node)
{
    return node->input_dtypes[0] == DTYPE_STRING || node->input_dtypes[0] == DTYPE_INT32 ||
           node->input_dtypes[0] == DTYPE_INT64;
}

static const Kernel strings_tfidf_kernels[] = {
    {.op = "onnx::TfIdfVectorizer", .supports = tfidf_supports, .compute = tfidf_compute},
};

KERNEL_FAMILY(reference, strings_tfidf, strings_tfidf_kernels);
