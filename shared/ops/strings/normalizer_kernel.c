/* ONNX's StringNormalizer: stop words are dropped, and the others' letters become lower or upper case. The
 * locale makes no difference. */
#include "shared/base/map.h"
#include "shared/ops/strings/letters.h"
#include "worker/reference/outputs.h"
#include "worker/reference/texts.h"

typedef struct Normalizer {
    Map *stops;
    LetterCase letter_case; /* of what is kept */
    LetterCase compared_in; /* of words that are compared with stop words */
    Buffer word;            /* the one that is being compared */
} Normalizer;

static void
normalizer_done(Normalizer *normalizer)
{
    map_free(normalizer->stops);
    buffer_done(&normalizer->word);
}

static Status
read_case(const KernelContext *context, Normalizer *normalizer)
{
    static const struct {
        const char *name;
        LetterCase letter_case;
    } actions[] = {{"NONE", LETTERS_AS_THEY_ARE}, {"LOWER", LETTERS_LOWER}, {"UPPER", LETTERS_UPPER}};
    Slice given = node_attr_string(context->node, "case_change_action");
    bool is_sensitive = node_attr_int(context->node, "is_case_sensitive") != 0;
    normalizer->compared_in = is_sensitive ? LETTERS_AS_THEY_ARE : LETTERS_LOWER;
    for (size_t index = 0; index < COUNT_OF(actions); index++) {
        if (slice_equals_string(given, actions[index].name)) {
            normalizer->letter_case = actions[index].letter_case;
            return STATUS_OK;
        }
    }
    return call_fail(context->call, STATUS_INVALID_ARGUMENT,
        "case_change_action is '%.*s', not 'NONE', 'LOWER' or 'UPPER'",
        SLICE_PRINT(slice_part(given, 0, 64)));
}

/* Returns the word in the case in which words are compared, until the next call. */
static Slice
compared(Normalizer *normalizer, Slice word)
{
    buffer_clear(&normalizer->word);
    letters_append(&normalizer->word, word, normalizer->compared_in);
    return buffer_slice(&normalizer->word);
}

static Status
read_stops(const KernelContext *context, Normalizer *normalizer)
{
    static char is_there;
    const AttrValue *stops = node_attr(context->node, "stopwords");
    normalizer->stops = map_new();
    bool is_ok = normalizer->stops != NULL;
    for (size_t index = 0; is_ok && index < stops->value.list.count; index++) {
        Slice word = compared(normalizer, stops->value.list.items[index].value.s);
        is_ok = buffer_is_ok(&normalizer->word) && map_put(normalizer->stops, word, &is_there);
    }
    return is_ok ? STATUS_OK : call_fail_memory(context->call, "stop words");
}

static bool
is_kept(Normalizer *normalizer, Slice word)
{
    return map_count(normalizer->stops) == 0 ||
           map_get(normalizer->stops, compared(normalizer, word)) == NULL;
}

static Status
write_kept(KernelContext *context, Normalizer *normalizer, const Shape *shape, bool has_none)
{
    AUTO_TEXTS texts = {0};
    const Tensor *input = &context->inputs[0];
    TRY(texts_begin(context, shape, &texts));
    for (int64_t n = 0; n < tensor_element_count(input); n++) {
        if (is_kept(normalizer, string_at(input, n))) {
            letters_append(&texts.bytes, string_at(input, n), normalizer->letter_case);
            texts_next(&texts);
        }
    }
    if (has_none) {
        texts_next(&texts);
    }
    return texts_finish(context, 0, &texts);
}

static Status
normalizer_compute(KernelContext *context)
{
    CLEANUP(normalizer_done) Normalizer normalizer = {.stops = NULL};
    const Tensor *input = &context->inputs[0];
    int64_t kept = 0;
    Shape shape;
    TRY(output_rule(context, &shape));
    TRY(read_case(context, &normalizer));
    TRY(read_stops(context, &normalizer));
    for (int64_t n = 0; n < tensor_element_count(input); n++) {
        kept += is_kept(&normalizer, string_at(input, n)) ? 1 : 0;
    }
    if (!buffer_is_ok(&normalizer.word)) {
        return call_fail_memory(context->call, "words");
    }
    shape.dims[shape.rank - 1] = kept > 0 ? kept : 1;
    return write_kept(context, &normalizer, &shape, kept == 0);
}

static const Kernel strings_normalizer_kernels[] = {
    {.op = "onnx::StringNormalizer", .compute = normalizer_compute},
};

KERNEL_FAMILY(reference, strings_normalizer, strings_normalizer_kernels);
