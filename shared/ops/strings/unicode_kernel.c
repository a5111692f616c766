/* Strings of UTF-8 taken apart into characters and put together. Of what is no UTF-8, each largest part that
 * begins a character counts as one error (Unicode 15, 3.9, "substitution of maximal subparts"), as in ICU. */
#include "shared/base/clock.h"
#include "shared/base/utf8.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"
#include "worker/reference/texts.h"

enum { CHARACTER_MAX = 0x10ffff, SURROGATE_FIRST = 0xd800, SURROGATE_LAST = 0xdfff, CONTROLS_END = 0x20 };

typedef enum ErrorRule { ERRORS_REPLACED, ERRORS_IGNORED, ERRORS_REFUSED, ERROR_RULES } ErrorRule;

typedef struct CharacterRules {
    KernelContext *context;
    ErrorRule errors;
    uint32_t replacement;
    bool replaces_controls;
} CharacterRules;

static ErrorRule
error_rule(const Node *node)
{
    static const char *const names[ERROR_RULES] = {"replace", "ignore", "strict"};
    Slice name = node_attr_string(node, "errors");
    int rule = 0;
    while (rule < ERROR_RULES && !slice_equals_string(name, names[rule])) {
        rule++;
    }
    return (ErrorRule)rule;
}

static bool
is_character(int64_t number)
{
    return number >= 0 && number <= CHARACTER_MAX && (number < SURROGATE_FIRST || number > SURROGATE_LAST);
}

static bool
attribute_is_utf8(const Node *node, const char *name)
{
    return node_attr(node, name) == NULL || slice_equals_string(node_attr_string(node, name), "UTF-8");
}

static bool
unicode_supports(const Node *node)
{
    return attribute_is_utf8(node, "input_encoding") && attribute_is_utf8(node, "output_encoding") &&
           error_rule(node) != ERROR_RULES && is_character(node_attr_int(node, "replacement_char"));
}

static CharacterRules
character_rules(KernelContext *context)
{
    const Node *node = context->node;
    return (CharacterRules){.context = context,
        .errors = error_rule(node),
        .replacement = (uint32_t)node_attr_int(node, "replacement_char"),
        .replaces_controls = node_attr(node, "replace_control_characters") != NULL &&
                             node_attr_bool(node, "replace_control_characters")};
}

static bool
is_within(Slice text, size_t index, int first, int last)
{
    unsigned char byte = index < text.size ? (unsigned char)text.data[index] : 0;
    return byte >= first && byte <= last;
}

/* The first bytes of characters of several bytes, and what the second may be (RFC 3629). */
typedef struct Lead {
    unsigned char from;
    unsigned char to;
    unsigned char first;
    unsigned char last;
    size_t size;
} Lead;

static const Lead leads[] = {
    {0xc2, 0xdf, 0x80, 0xbf, 2},
    {0xe0, 0xe0, 0xa0, 0xbf, 3},
    {0xe1, 0xec, 0x80, 0xbf, 3},
    {0xed, 0xed, 0x80, 0x9f, 3},
    {0xee, 0xef, 0x80, 0xbf, 3},
    {0xf0, 0xf0, 0x90, 0xbf, 4},
    {0xf1, 0xf3, 0x80, 0xbf, 4},
    {0xf4, 0xf4, 0x80, 0x8f, 4},
};

/* Returns how many bytes at the beginning of a text that is no UTF-8 there count as one error: at least 1. */
static size_t
error_size(Slice text)
{
    size_t size = 1;
    for (size_t index = 0; index < COUNT_OF(leads); index++) {
        const Lead *lead = &leads[index];
        if (is_within(text, 0, lead->from, lead->to) && is_within(text, 1, lead->first, lead->last)) {
            size = 2;
            while (size < lead->size && is_within(text, size, 0x80, 0xbf)) {
                size++;
            }
        }
    }
    return size;
}

/* What becomes of something that is no character. */
static Status
settle_error(const CharacterRules *rules, int64_t string, uint32_t *ret_character, bool *ret_is_kept)
{
    *ret_character = rules->replacement;
    *ret_is_kept = rules->errors == ERRORS_REPLACED;
    return rules->errors != ERRORS_REFUSED ? STATUS_OK
                                           : call_fail(rules->context->call, STATUS_INVALID_ARGUMENT,
                                                 "string %lld is no UTF-8", (long long)string);
}

/* Takes the next character from a text that is not empty; ret_is_kept: it is not left out. */
static Status
next_character(
    const CharacterRules *rules, int64_t string, Slice *text, uint32_t *ret_character, bool *ret_is_kept)
{
    size_t size = utf8_character_size(text->data, text->data + text->size);
    size_t used = size > 0 ? size : error_size(*text);
    if (size == 0) {
        TRY(settle_error(rules, string, ret_character, ret_is_kept));
    } else {
        uint32_t character = utf8_decode(text->data, size);
        bool is_replaced = rules->replaces_controls && character < CONTROLS_END;
        *ret_character = is_replaced ? rules->replacement : character;
        *ret_is_kept = true;
    }
    *text = slice_part(*text, used, SIZE_MAX);
    return STATUS_OK;
}

static void
append_character(Buffer *buffer, uint32_t character)
{
    char bytes[4];
    size_t size = utf8_encode(character, bytes);
    buffer_append(buffer, bytes, size);
}

static Status
transcode_compute(KernelContext *context)
{
    const Tensor *input = &context->inputs[0];
    CharacterRules rules = character_rules(context);
    AUTO_TEXTS texts = {0};
    TRY(texts_begin(context, &input->shape, &texts));
    for (int64_t n = 0; n < tensor_element_count(input); n++) {
        Slice text = string_at(input, n);
        TRY(call_check(context->call, clock_monotonic_ns()));
        while (text.size > 0 && buffer_is_ok(&texts.bytes)) {
            uint32_t character = 0;
            bool is_kept = false;
            TRY(next_character(&rules, n, &text, &character, &is_kept));
            if (is_kept) {
                append_character(&texts.bytes, character);
            }
        }
        texts_next(&texts);
    }
    return texts_finish(context, 0, &texts);
}

static void
write_split(Tensor *splits, int64_t n, int64_t split)
{
    if (splits->dtype == DTYPE_INT32) {
        ((int32_t *)splits->data)[n] = (int32_t)split;
    } else {
        ((int64_t *)splits->data)[n] = split;
    }
}

static Status
decode_strings(const CharacterRules *rules, Buffer *characters, Tensor *splits)
{
    KernelContext *context = rules->context;
    const Tensor *input = &context->inputs[0];
    write_split(splits, 0, 0);
    for (int64_t n = 0; n < tensor_element_count(input); n++) {
        Slice text = string_at(input, n);
        TRY(call_check(context->call, clock_monotonic_ns()));
        while (text.size > 0 && buffer_is_ok(characters)) {
            uint32_t character = 0;
            bool is_kept = false;
            TRY(next_character(rules, n, &text, &character, &is_kept));
            if (is_kept) {
                buffer_append(characters, &character, sizeof character);
            }
        }
        write_split(splits, n + 1, (int64_t)(characters->size / sizeof(uint32_t)));
    }
    return STATUS_OK;
}

static Status
decode_compute(KernelContext *context)
{
    CharacterRules rules = character_rules(context);
    AUTO_BUFFER characters = {.size_max = scratch_heap_max(context)};
    Shape shapes[2];
    Tensor *splits = NULL;
    Tensor *values = NULL;
    TRY(output_rule(context, shapes));
    TRY(kernel_output(context, 0, context->node->output_dtypes[0], &shapes[0], &splits));
    TRY(decode_strings(&rules, &characters, splits));
    if (!buffer_is_ok(&characters)) {
        return call_fail_memory(context->call, "the characters of strings");
    }
    int64_t count = (int64_t)(characters.size / sizeof(uint32_t));
    if (splits->dtype == DTYPE_INT32 && count > INT32_MAX) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT, "%lld characters do not fit into int32",
            (long long)count);
    }
    Shape vector = shape_vector(count);
    TRY(kernel_output(context, 1, DTYPE_INT32, &vector, &values));
    if (count > 0) {
        memcpy(values->data, characters.data, characters.size);
    }
    return STATUS_OK;
}

static Status
encode_string(const CharacterRules *rules, int64_t string, const int64_t range[2], Buffer *bytes)
{
    const int32_t *values = rules->context->inputs[0].data;
    for (int64_t n = range[0]; n < range[1]; n++) {
        uint32_t character = (uint32_t)values[n];
        bool is_kept = true;
        if (!is_character(values[n])) {
            TRY(settle_error(rules, string, &character, &is_kept));
        }
        if (is_kept) {
            append_character(bytes, character);
        }
    }
    return STATUS_OK;
}

static Status
encode_compute(KernelContext *context)
{
    const Tensor *splits = &context->inputs[1];
    CharacterRules rules = character_rules(context);
    AUTO_TEXTS texts = {0};
    Shape shape;
    int64_t range[2] = {0, 0};
    int64_t count = tensor_element_count(&context->inputs[0]);
    TRY(output_shapes(context, &shape));
    TRY(texts_begin(context, &shape, &texts));
    for (int64_t n = 0; n <= shape.dims[0]; n++) {
        bool is_number = tensor_to_int64(splits, n, &range[1]);
        bool is_end = n == 0 ? range[1] == 0 : range[1] >= range[0] && range[1] <= count;
        if (!is_number || !is_end || (n == shape.dims[0] && range[1] != count)) {
            return call_fail(context->call, STATUS_INVALID_ARGUMENT,
                "split %lld is %lld; splits go up from 0 to %lld", (long long)n, (long long)range[1],
                (long long)count);
        }
        TRY(call_check(context->call, clock_monotonic_ns()));
        if (n > 0) {
            TRY(encode_string(&rules, n - 1, range, &texts.bytes));
            texts_next(&texts);
        }
        range[0] = range[1];
    }
    return texts_finish(context, 0, &texts);
}

static bool
splits_support(const Node *node)
{
    Dtype splits = node->input_count > 1 ? node->input_dtypes[1] : node->output_dtypes[0];
    return unicode_supports(node) && (splits == DTYPE_INT32 || splits == DTYPE_INT64);
}

static const Kernel unicode_kernels[] = {
    {.op = "UnicodeDecode", .supports = splits_support, .compute = decode_compute},
    {.op = "UnicodeEncode", .supports = splits_support, .compute = encode_compute},
    {.op = "UnicodeTranscode", .supports = unicode_supports, .compute = transcode_compute},
};

KERNEL_FAMILY(reference, strings_unicode, unicode_kernels);
