/* RegexFullMatch and RegexReplace. Matches are replaced as RE2::GlobalReplace() does: from the left, and an
 * empty one just behind another match is none. A pattern that is an attribute is read once. */
#include "shared/base/clock.h"
#include "shared/base/utf8.h"
#include "shared/ops/strings/pattern.h"
#include "worker/reference/outputs.h"
#include "worker/reference/texts.h"

static void
pattern_freep(Pattern **pattern)
{
    pattern_free(*pattern);
}
#define AUTO_PATTERN CLEANUP(pattern_freep) Pattern *

static Status
static_create(Call *call, const Node *node, void **ret_state)
{
    Pattern *pattern = NULL;
    TRY(pattern_new(call, node_attr_string(node, "pattern"), &pattern));
    *ret_state = pattern;
    return STATUS_OK;
}

static void
static_destroy(void *state)
{
    pattern_free(state);
}

static Status
make_room(KernelContext *context, const Pattern *pattern, PatternRoom **ret_room)
{
    *ret_room = pattern_room_new(pattern);
    if (*ret_room == NULL) {
        return call_fail_memory(context->call, "a pattern");
    }
    pattern_room_watch(*ret_room, context->call);
    return STATUS_OK;
}

static Status
match_all(KernelContext *context, const Pattern *pattern)
{
    AUTO_PATTERN_ROOM room = NULL;
    Tensor *output = NULL;
    TRY(make_room(context, pattern, &room));
    TRY(output_new(context, &output));
    for (int64_t n = 0; n < tensor_element_count(output); n++) {
        ((uint8_t *)output->data)[n] =
            pattern_matches(pattern, string_at(&context->inputs[0], n), room) ? 1 : 0;
    }
    return call_check(context->call, clock_monotonic_ns());
}

/* Appends the rewrite of a match: \0 stands for the match, \\ for a backslash. */
static void
append_rewrite(Buffer *text, Slice rewrite, Slice match)
{
    for (size_t n = 0; n < rewrite.size; n++) {
        bool is_escape = rewrite.data[n] == '\\';
        n += is_escape ? 1 : 0;
        if (is_escape && rewrite.data[n] == '0') {
            buffer_append_slice(text, match);
        } else {
            buffer_append_byte(text, rewrite.data[n]);
        }
    }
}

static Status
check_rewrite(Call *call, Slice rewrite)
{
    for (size_t n = 0; n < rewrite.size; n++) {
        if (rewrite.data[n] != '\\') {
            continue;
        }
        char next = n + 1 < rewrite.size ? rewrite.data[++n] : ' ';
        if (next >= '1' && next <= '9') {
            return call_fail(call, STATUS_UNIMPLEMENTED,
                "rewrite '%.*s' names group %c; only \\0, the whole match, is known", SLICE_PRINT(rewrite),
                next);
        }
        if (next != '0' && next != '\\') {
            return call_fail(call, STATUS_INVALID_ARGUMENT,
                "rewrite '%.*s' has a backslash before neither a digit nor a backslash",
                SLICE_PRINT(rewrite));
        }
    }
    return STATUS_OK;
}

typedef struct Replacing {
    const Pattern *pattern;
    PatternRoom *room;
    Slice rewrite;
    bool is_global;
    Buffer *text;
} Replacing;

/* Appends one character of the text from `at` on, as it is; returns its size, of at least 1. */
static size_t
append_character(const Replacing *replacing, Slice text, size_t at)
{
    size_t size = at < text.size ? utf8_character_size(text.data + at, text.data + text.size) : 0;
    buffer_append_slice(replacing->text, slice_part(text, at, size == 0 ? 1 : size));
    return size == 0 ? 1 : size;
}

static void
replace(const Replacing *replacing, Slice text)
{
    size_t at = 0;
    size_t last_end = SIZE_MAX; /* of the match before */
    bool goes_on = true;
    Slice match;
    while (
        goes_on && at <= text.size && pattern_find(replacing->pattern, text, at, replacing->room, &match)) {
        size_t begin = (size_t)(match.data - text.data);
        buffer_append_slice(replacing->text, slice_part(text, at, begin - at));
        at = begin;
        if (match.size == 0 && begin == last_end) {
            at += append_character(replacing, text, at);
            continue;
        }
        append_rewrite(replacing->text, replacing->rewrite, match);
        at = last_end = begin + match.size;
        goes_on = replacing->is_global;
    }
    if (at < text.size) {
        buffer_append_slice(replacing->text, slice_part(text, at, SIZE_MAX));
    }
}

static Status
replace_all(KernelContext *context, const Pattern *pattern, Slice rewrite)
{
    AUTO_PATTERN_ROOM room = NULL;
    AUTO_TEXTS texts = {0};
    const Tensor *input = &context->inputs[0];
    TRY(check_rewrite(context->call, rewrite));
    TRY(make_room(context, pattern, &room));
    TRY(texts_begin(context, &input->shape, &texts));
    Replacing replacing = {.pattern = pattern,
        .room = room,
        .rewrite = rewrite,
        .is_global = node_attr_bool(context->node, "replace_global"),
        .text = &texts.bytes};
    for (int64_t n = 0; n < tensor_element_count(input); n++) {
        replace(&replacing, string_at(input, n));
        texts_next(&texts);
    }
    TRY(call_check(context->call, clock_monotonic_ns()));
    return texts_finish(context, 0, &texts);
}

static Status
static_match_compute(KernelContext *context)
{
    return match_all(context, context->state);
}

static Status
static_replace_compute(KernelContext *context)
{
    return replace_all(context, context->state, node_attr_string(context->node, "rewrite"));
}

static Status
match_compute(KernelContext *context)
{
    AUTO_PATTERN pattern = NULL;
    Shape shape;
    TRY(output_shapes(context, &shape));
    TRY(pattern_new(context->call, string_at(&context->inputs[1], 0), &pattern));
    return match_all(context, pattern);
}

static Status
replace_compute(KernelContext *context)
{
    AUTO_PATTERN pattern = NULL;
    Shape shape;
    TRY(output_shapes(context, &shape));
    TRY(pattern_new(context->call, string_at(&context->inputs[1], 0), &pattern));
    return replace_all(context, pattern, string_at(&context->inputs[2], 0));
}

#define STATIC_PATTERN .create = static_create, .destroy = static_destroy

static const Kernel strings_regex_kernels[] = {
    {.op = "RegexFullMatch", .compute = match_compute},
    {.op = "StaticRegexFullMatch", .compute = static_match_compute, STATIC_PATTERN},
    {.op = "RegexReplace", .compute = replace_compute},
    {.op = "StaticRegexReplace", .compute = static_replace_compute, STATIC_PATTERN},
};

KERNEL_FAMILY(reference, strings_regex, strings_regex_kernels);
