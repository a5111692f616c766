/* Neighbouring strings of sequences, joined to n-grams: all of one width, then those of the next. A sequence
 * is padded at both ends, by width - 1 strings at most. (TensorFlow's string_ngrams_op.cc.) */
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"
#include "worker/reference/texts.h"

enum { WIDTHS_MAX = 64, STRINGS_MAX = 1 << 20 /* of an n-gram, and of padding */ };

typedef struct NGrams {
    Texts *texts;
    Slice separator;
    Slice left_pad;
    Slice right_pad;
    int64_t pad_width; /* below 0: one less than the n-gram is wide */
    bool keeps_short;  /* a sequence that is too short for any width gives one n-gram, of all of it */
    int64_t widths[WIDTHS_MAX];
    size_t width_count;
} NGrams;

typedef struct Sequence {
    const Slice *strings;
    int64_t size;
} Sequence;

static Status
read_ngrams(KernelContext *context, NGrams *ngrams)
{
    const Node *node = context->node;
    ngrams->separator = node_attr_string(node, "separator");
    ngrams->left_pad = node_attr_string(node, "left_pad");
    ngrams->right_pad = node_attr_string(node, "right_pad");
    ngrams->pad_width = node_attr_int(node, "pad_width");
    ngrams->keeps_short = node_attr_bool(node, "preserve_short_sequences");
    ngrams->width_count = node_attr_ints(node, "ngram_widths", ngrams->widths, WIDTHS_MAX);
    if (ngrams->width_count > WIDTHS_MAX) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT,
            "ngram_widths has %zu widths, not %d at most", ngrams->width_count, WIDTHS_MAX);
    }
    for (size_t index = 0; index < ngrams->width_count; index++) {
        if (ngrams->widths[index] < 1 || ngrams->widths[index] > STRINGS_MAX) {
            return call_fail(context->call, STATUS_INVALID_ARGUMENT, "ngram_widths[%zu] is %lld, not 1 to %d",
                index, (long long)ngrams->widths[index], STRINGS_MAX);
        }
    }
    return ngrams->pad_width <= STRINGS_MAX
               ? STATUS_OK
               : call_fail(context->call, STATUS_INVALID_ARGUMENT, "pad_width is %lld, not %d at most",
                     (long long)ngrams->pad_width, STRINGS_MAX);
}

static int64_t
padding_of(const NGrams *ngrams, int64_t width)
{
    return ngrams->pad_width < 0 || ngrams->pad_width >= width ? width - 1 : ngrams->pad_width;
}

static int64_t
count_of_width(const NGrams *ngrams, int64_t size, int64_t width)
{
    int64_t count = size + 2 * padding_of(ngrams, width) - width + 1;
    return count > 0 ? count : 0;
}

static int64_t
count_of_sequence(const NGrams *ngrams, int64_t size)
{
    int64_t count = 0;
    for (size_t index = 0; index < ngrams->width_count; index++) {
        count += count_of_width(ngrams, size, ngrams->widths[index]);
    }
    return count == 0 && size > 0 && ngrams->keeps_short ? 1 : count;
}

/* Appends a string and, unless it ends the n-gram, a separator. */
static void
add_string(const NGrams *ngrams, Slice string, int64_t *left)
{
    buffer_append_slice(&ngrams->texts->bytes, string);
    if (--*left > 0) {
        buffer_append_slice(&ngrams->texts->bytes, ngrams->separator);
    }
}

/* Writes the strings from `first` to `first + width`, where those outside of the sequence are padding. */
static void
write_ngram(const NGrams *ngrams, const Sequence *sequence, int64_t first, int64_t width)
{
    int64_t left = width;
    for (int64_t n = first; n < first + width && buffer_is_ok(&ngrams->texts->bytes); n++) {
        Slice inside = n >= 0 && n < sequence->size ? sequence->strings[n] : ngrams->right_pad;
        add_string(ngrams, n < 0 ? ngrams->left_pad : inside, &left);
    }
    texts_next(ngrams->texts);
}

static void
write_sequence(const NGrams *ngrams, const Sequence *sequence)
{
    int64_t written = 0;
    for (size_t index = 0; index < ngrams->width_count; index++) {
        int64_t width = ngrams->widths[index];
        int64_t count = count_of_width(ngrams, sequence->size, width);
        for (int64_t n = 0; n < count; n++) {
            write_ngram(ngrams, sequence, n - padding_of(ngrams, width), width);
        }
        written += count;
    }
    if (written == 0 && sequence->size > 0 && ngrams->keeps_short) {
        int64_t padding = ngrams->pad_width < 0 ? 0 : ngrams->pad_width;
        write_ngram(ngrams, sequence, -padding, sequence->size + 2 * padding);
    }
}

static int64_t
split_at(const Tensor *splits, int64_t n)
{
    int64_t split = 0;
    (void)!tensor_to_int64(splits, n, &split);
    return split;
}

/* Checks that the bounds begin at 0, never fall, and end where the strings do. */
static Status
check_splits(KernelContext *context, int64_t count)
{
    const Tensor *splits = &context->inputs[1];
    int64_t size = tensor_element_count(&context->inputs[0]);
    for (int64_t n = 0; n < count; n++) {
        int64_t before = n == 0 ? 0 : split_at(splits, n - 1);
        int64_t split = split_at(splits, n);
        bool is_right = split >= before && split <= size && (n > 0 || split == 0);
        if (!is_right || (n == count - 1 && split != size)) {
            return call_fail(context->call, STATUS_INVALID_ARGUMENT,
                "data_splits[%lld] is %lld: splits go from 0 up to %lld, the number of strings", (long long)n,
                (long long)split, (long long)size);
        }
    }
    return STATUS_OK;
}

/* Makes the bounds of the n-grams; *ret_total is their number. */
static Status
make_splits(KernelContext *context, const NGrams *ngrams, int64_t count, int64_t *ret_total)
{
    Tensor *output = NULL;
    const Tensor *splits = &context->inputs[1];
    bool has_strings = tensor_element_count(&context->inputs[0]) > 0; /* or else there is not even padding */
    int64_t total = 0;
    TRY(kernel_output(context, 1, splits->dtype, &splits->shape, &output));
    for (int64_t n = 0; n < count; n++) {
        if (n > 0 && has_strings) {
            total += count_of_sequence(ngrams, split_at(splits, n) - split_at(splits, n - 1));
        }
        if (total > (output->dtype == DTYPE_INT32 ? INT32_MAX : INT64_MAX / 2)) {
            return call_fail(context->call, STATUS_INVALID_ARGUMENT, "%lld n-grams are too many for %s",
                (long long)total, dtype_name(output->dtype));
        }
        if (output->dtype == DTYPE_INT32) {
            ((int32_t *)output->data)[n] = (int32_t)total;
        } else {
            ((int64_t *)output->data)[n] = total;
        }
    }
    *ret_total = total;
    return STATUS_OK;
}

static Status
ngrams_compute(KernelContext *context)
{
    Shape shapes[2];
    NGrams ngrams = {0};
    AUTO_TEXTS texts = {0};
    int64_t total = 0;
    TRY(output_rule(context, shapes));
    TRY(read_ngrams(context, &ngrams));
    int64_t count = tensor_element_count(&context->inputs[1]);
    TRY(check_splits(context, count));
    TRY(make_splits(context, &ngrams, count, &total));
    Shape vector = shape_vector(total);
    TRY(texts_begin(context, &vector, &texts));
    ngrams.texts = &texts;
    for (int64_t n = 1; n < count && total > 0 && buffer_is_ok(&texts.bytes); n++) {
        int64_t first = split_at(&context->inputs[1], n - 1);
        Sequence sequence = {.size = split_at(&context->inputs[1], n) - first};
        sequence.strings = sequence.size == 0 ? NULL : (const Slice *)context->inputs[0].data + first;
        write_sequence(&ngrams, &sequence);
    }
    return texts_finish(context, 0, &texts);
}

static bool
ngrams_supports(const Node *node)
{
    return node->input_dtypes[1] == DTYPE_INT32 || node->input_dtypes[1] == DTYPE_INT64;
}

static const Kernel string_ngrams_kernels[] = {
    {.op = "StringNGrams", .supports = ngrams_supports, .compute = ngrams_compute},
};

KERNEL_FAMILY(reference, strings_ngrams, string_ngrams_kernels);
