/* ONNX's StringConcat, StringSplit and RegexFullMatch. */
#include "shared/base/clock.h"
#include "shared/ops/strings/pattern.h"
#include "worker/reference/outputs.h"
#include "worker/reference/texts.h"
#include "worker/reference/walk.h"

static Status
match_create(Call *call, const Node *node, void **ret_state)
{
    Pattern *pattern = NULL;
    TRY(pattern_new(call, node_attr_string(node, "pattern"), &pattern));
    *ret_state = pattern;
    return STATUS_OK;
}

static void
match_destroy(void *state)
{
    pattern_free(state);
}

static Status
match_compute(KernelContext *context)
{
    AUTO_PATTERN_ROOM room = pattern_room_new(context->state);
    Tensor *output = NULL;
    if (room == NULL) {
        return call_fail_memory(context->call, "a pattern");
    }
    TRY(output_new(context, &output));
    pattern_room_watch(room, context->call);
    for (int64_t n = 0; n < tensor_element_count(output); n++) {
        ((uint8_t *)output->data)[n] =
            pattern_matches(context->state, string_at(&context->inputs[0], n), room) ? 1 : 0;
    }
    return call_check(context->call, clock_monotonic_ns());
}

/* A rule by which strings are cut. */
typedef struct Cut {
    Slice delimiter; /* "": any white space, which is also dropped at both ends */
    int64_t cuts_max;
} Cut;

static bool
is_space(char byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

static Slice
skip_spaces(Slice text)
{
    while (text.size > 0 && is_space(text.data[0])) {
        text = slice_part(text, 1, SIZE_MAX);
    }
    return text;
}

/* Returns where the next cut is; text.size when there is none. */
static size_t
find_cut(const Cut *cut, Slice text)
{
    for (size_t at = 0; at < text.size; at++) {
        if (cut->delimiter.size == 0 ? is_space(text.data[at])
                                     : slice_starts_with(slice_part(text, at, SIZE_MAX), cut->delimiter)) {
            return at;
        }
    }
    return text.size;
}

/* The rest of a string that is being cut. */
typedef struct Rest {
    Slice text;
    int64_t cuts;
    bool is_used_up;
} Rest;

static bool
next_piece(const Cut *cut, Rest *rest, Slice *ret_piece)
{
    bool is_spaced = cut->delimiter.size == 0;
    rest->text = is_spaced ? skip_spaces(rest->text) : rest->text;
    if (rest->is_used_up || (is_spaced && rest->text.size == 0)) {
        return false;
    }
    size_t end = rest->cuts < cut->cuts_max ? find_cut(cut, rest->text) : rest->text.size;
    *ret_piece = slice_part(rest->text, 0, end);
    rest->is_used_up = end == rest->text.size;
    rest->text = slice_part(rest->text, end + (is_spaced ? 1 : cut->delimiter.size), SIZE_MAX);
    rest->cuts++;
    return true;
}

static int64_t
count_pieces(const Cut *cut, Slice text)
{
    Rest rest = {.text = text};
    Slice piece;
    int64_t count = 0;
    while (next_piece(cut, &rest, &piece)) {
        count++;
    }
    return count;
}

/* Writes the pieces of a string, filled up with empty ones. */
static void
write_pieces(const Cut *cut, Slice text, int64_t size, Texts *texts)
{
    Rest rest = {.text = text};
    Slice piece;
    int64_t end = texts->count + size;
    while (next_piece(cut, &rest, &piece)) {
        buffer_append_slice(&texts->bytes, piece);
        texts_next(texts);
    }
    while (texts->count < end) {
        texts_next(texts);
    }
}

static Status
split_compute(KernelContext *context)
{
    int64_t given = node_attr_int(context->node, "maxsplit");
    Cut cut = {
        .delimiter = node_attr_string(context->node, "delimiter"), .cuts_max = given < 0 ? INT64_MAX : given};
    AUTO_TEXTS texts = {0};
    const Tensor *input = &context->inputs[0];
    Tensor *counts = NULL;
    Shape shapes[2];
    int64_t size = 0;
    TRY(output_rule(context, shapes));
    TRY(kernel_output(context, 1, DTYPE_INT64, &shapes[1], &counts));
    for (int64_t n = 0; n < tensor_element_count(input); n++) {
        int64_t count = count_pieces(&cut, string_at(input, n));
        ((int64_t *)counts->data)[n] = count;
        size = count > size ? count : size;
    }
    shapes[0].dims[shapes[0].rank - 1] = size;
    TRY(texts_begin(context, &shapes[0], &texts));
    for (int64_t n = 0; n < tensor_element_count(input); n++) {
        write_pieces(&cut, string_at(input, n), size, &texts);
    }
    return texts_finish(context, 0, &texts);
}

static Status
concat_compute(KernelContext *context)
{
    AUTO_TEXTS texts = {0};
    const Tensor *inputs = context->inputs;
    Shape shape;
    TRY(output_shapes(context, &shape));
    TRY(texts_begin(context, &shape, &texts));
    Walk left = walk_broadcast(&inputs[0].shape, &shape);
    Walk right = walk_broadcast(&inputs[1].shape, &shape);
    bool has_more = walk_count(&left) > 0;
    while (has_more) {
        buffer_append_slice(&texts.bytes, string_at(&inputs[0], left.offset));
        buffer_append_slice(&texts.bytes, string_at(&inputs[1], right.offset));
        texts_next(&texts);
        (void)walk_next(&right);
        has_more = walk_next(&left);
    }
    return texts_finish(context, 0, &texts);
}

static const Kernel strings_onnx_kernels[] = {
    {.op = "onnx::StringConcat", .compute = concat_compute},
    {.op = "onnx::RegexFullMatch",
        .create = match_create,
        .destroy = match_destroy,
        .compute = match_compute},
    {.op = "onnx::StringSplit", .compute = split_compute},
};

KERNEL_FAMILY(reference, strings_onnx, strings_onnx_kernels);
