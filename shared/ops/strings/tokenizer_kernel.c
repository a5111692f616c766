/* ONNX Runtime's Tokenizer: each string becomes the pieces that match tokenexp, or those between matches of
 * the separators. */
#include "shared/base/utf8.h"
#include "shared/ops/strings/pattern.h"
#include "worker/reference/outputs.h"
#include "worker/reference/texts.h"

typedef struct Tokenizer {
    const Pattern *pattern;
    PatternRoom *room;
    bool is_between; /* tokens are what lies between matches */
    int64_t characters_min;
} Tokenizer;

/* Writes a pattern of what any separator matches. */
static Status
write_separators(Call *call, const AttrValue *separators, Buffer *text)
{
    for (size_t index = 0; index < separators->value.list.count; index++) {
        Slice separator = separators->value.list.items[index].value.s;
        if (separator.size == 0) {
            return call_fail(call, STATUS_UNIMPLEMENTED,
                "separator %zu is empty; tokenexp='.' cuts a string into characters", index);
        }
        buffer_append_string(text, index > 0 ? "|(?:" : "(?:");
        buffer_append_slice(text, separator);
        buffer_append_string(text, ")");
    }
    return STATUS_OK;
}

static Status
tokenizer_create(Call *call, const Node *node, void **ret_state)
{
    AUTO_BUFFER text = {0};
    Pattern *pattern = NULL;
    const AttrValue *separators = node_attr(node, "separators");
    bool has_expression = node_attr_string(node, "tokenexp").size > 0;
    if (has_expression == (separators->value.list.count > 0)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "a Tokenizer has either separators or a tokenexp");
    }
    if (has_expression) {
        buffer_append_slice(&text, node_attr_string(node, "tokenexp"));
    }
    TRY(has_expression ? STATUS_OK : write_separators(call, separators, &text));
    if (!buffer_is_ok(&text)) {
        return call_fail_memory(call, "a pattern");
    }
    TRY(pattern_new(call, buffer_slice(&text), &pattern));
    *ret_state = pattern;
    return STATUS_OK;
}

static void
tokenizer_destroy(void *state)
{
    pattern_free(state);
}

static int64_t
count_characters(Slice text)
{
    int64_t count = 0;
    for (size_t n = 0; n < text.size; n++) {
        count += ((unsigned char)text.data[n] & 0xc0) != 0x80 ? 1 : 0;
    }
    return count;
}

/* Finds the next match behind *at that is not empty, and moves *at behind it. */
static bool
find_match(const Tokenizer *tokenizer, Slice text, size_t *at, Slice *ret_match)
{
    while (*at < text.size && pattern_find(tokenizer->pattern, text, *at, tokenizer->room, ret_match)) {
        size_t end = (size_t)(ret_match->data - text.data) + ret_match->size;
        if (ret_match->size > 0) {
            *at = end;
            return true;
        }
        size_t size = end < text.size ? utf8_character_size(text.data + end, text.data + text.size) : 1;
        *at = end + (size > 0 ? size : 1);
    }
    return false;
}

/* Finds the next piece, *at moves behind it and its separator; false when none is left. */
static bool
next_piece(const Tokenizer *tokenizer, Slice text, size_t *at, Slice *ret_piece)
{
    size_t begin = *at;
    Slice match;
    if (!tokenizer->is_between) {
        return find_match(tokenizer, text, at, ret_piece);
    }
    if (begin >= text.size) {
        return false;
    }
    bool is_cut = find_match(tokenizer, text, at, &match);
    size_t end = is_cut ? (size_t)(match.data - text.data) : text.size;
    *at = is_cut ? *at : text.size;
    *ret_piece = slice_part(text, begin, end - begin);
    return true;
}

static bool
next_token(const Tokenizer *tokenizer, Slice text, size_t *at, Slice *ret_token)
{
    while (next_piece(tokenizer, text, at, ret_token)) {
        if (count_characters(*ret_token) >= tokenizer->characters_min) {
            return true;
        }
    }
    return false;
}

static int64_t
count_tokens(const Tokenizer *tokenizer, Slice text)
{
    int64_t count = 0;
    size_t at = 0;
    Slice token;
    while (next_token(tokenizer, text, &at, &token)) {
        count++;
    }
    return count;
}

static void
add_text(Texts *texts, Slice text)
{
    buffer_append_slice(&texts->bytes, text);
    texts_next(texts);
}

/* Writes the tokens of a string, between marks if they are wanted, filled up to `size`. */
static void
write_tokens(const KernelContext *context, const Tokenizer *tokenizer, Slice text, int64_t size, Texts *texts)
{
    bool is_marked = node_attr_int(context->node, "mark") != 0;
    int64_t end = texts->count + size;
    size_t at = 0;
    Slice token;
    if (is_marked) {
        add_text(texts, SLICE("\x02"));
    }
    while (next_token(tokenizer, text, &at, &token)) {
        add_text(texts, token);
    }
    if (is_marked) {
        add_text(texts, SLICE("\x03"));
    }
    while (texts->count < end) {
        add_text(texts, node_attr_string(context->node, "pad_value"));
    }
}

static Status
tokenizer_compute(KernelContext *context)
{
    AUTO_PATTERN_ROOM room = pattern_room_new(context->state);
    AUTO_TEXTS texts = {0};
    Tokenizer tokenizer = {.pattern = context->state,
        .room = room,
        .is_between = node_attr_string(context->node, "tokenexp").size == 0,
        .characters_min = node_attr_int(context->node, "mincharnum")};
    const Tensor *input = &context->inputs[0];
    int64_t size = 0;
    Shape shape;
    if (room == NULL) {
        return call_fail_memory(context->call, "a pattern");
    }
    TRY(output_rule(context, &shape));
    for (int64_t n = 0; n < tensor_element_count(input); n++) {
        int64_t count = count_tokens(&tokenizer, string_at(input, n));
        size = count > size ? count : size;
    }
    size += node_attr_int(context->node, "mark") != 0 ? 2 : 0;
    shape.dims[shape.rank - 1] = size;
    TRY(texts_begin(context, &shape, &texts));
    for (int64_t n = 0; n < tensor_element_count(input); n++) {
        write_tokens(context, &tokenizer, string_at(input, n), size, &texts);
    }
    return texts_finish(context, 0, &texts);
}

static const Kernel strings_tokenizer_kernels[] = {
    {.op = "com.microsoft::Tokenizer",
        .create = tokenizer_create,
        .destroy = tokenizer_destroy,
        .compute = tokenizer_compute},
};

KERNEL_FAMILY(reference, strings_tokenizer, strings_tokenizer_kernels);
