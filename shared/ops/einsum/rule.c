#include "shared/ops/einsum/rule.h"

#include <ctype.h>
#include <string.h>

typedef struct Reader {
    Call *call;
    Slice equation;
    Einsum *einsum;
    int ellipsis_rank;           /* the longest among the operands */
    int uses[EINSUM_LABELS_MAX]; /* how often each label occurs in the operands */
    bool has_size[EINSUM_LABELS_MAX];
} Reader;

static Status
fail_equation(const Reader *reader, const char *reason)
{
    return call_fail(reader->call, STATUS_INVALID_ARGUMENT, "equation '%.*s' %s",
        SLICE_PRINT(slice_part(reader->equation, 0, 256)), reason);
}

static int
letter_label(char letter)
{
    return islower((unsigned char)letter) ? letter - 'a' : letter - 'A' + EINSUM_LETTERS / 2;
}

static Status
push_label(const Reader *reader, EinsumTerm *term, int label)
{
    if (term->rank == SHAPE_RANK_MAX) {
        return fail_equation(reader, "has a term of too many dimensions");
    }
    term->labels[term->rank++] = label;
    return STATUS_OK;
}

static Status
push_ellipsis(const Reader *reader, EinsumTerm *term, int rank)
{
    for (int index = rank - 1; index >= 0; index--) {
        TRY(push_label(reader, term, EINSUM_LETTERS + index));
    }
    return STATUS_OK;
}

static int
count_letters(Slice text)
{
    int count = 0;
    for (size_t index = 0; index < text.size; index++) {
        count += isalpha((unsigned char)text.data[index]) ? 1 : 0;
    }
    return count;
}

/* `ellipsis_rank` is the number of dimensions that "..." stands for. */
static Status
read_term(const Reader *reader, Slice text, int ellipsis_rank, EinsumTerm *term)
{
    bool has_ellipsis = false;
    for (size_t index = 0; index < text.size; index++) {
        char byte = text.data[index];
        if (isalpha((unsigned char)byte)) {
            TRY(push_label(reader, term, letter_label(byte)));
        } else if (slice_starts_with(slice_part(text, index, SIZE_MAX), SLICE("...")) && !has_ellipsis) {
            has_ellipsis = true;
            index += 2;
            TRY(push_ellipsis(reader, term, ellipsis_rank));
        } else if (byte != ' ') {
            return fail_equation(reader, "has a term that is not made of letters and one '...'");
        }
    }
    return STATUS_OK;
}

static Status
merge_size(Reader *reader, int label, int64_t size)
{
    int64_t *known = &reader->einsum->sizes[label];
    bool broadcasts = label >= EINSUM_LETTERS;
    if (!reader->has_size[label] || *known < 0 || (broadcasts && *known == 1)) {
        *known = reader->has_size[label] && size < 0 ? *known : size;
        reader->has_size[label] = true;
        return STATUS_OK;
    }
    if (size >= 0 && size != *known && !(broadcasts && size == 1)) {
        return call_fail(reader->call, STATUS_INVALID_ARGUMENT,
            "one index of equation '%.*s' is %lld in one place and %lld in another",
            SLICE_PRINT(slice_part(reader->equation, 0, 256)), (long long)*known, (long long)size);
    }
    return STATUS_OK;
}

static Status
read_operand(Reader *reader, Slice text, const Shape *shape, EinsumTerm *term)
{
    int ellipsis_rank = shape->rank - count_letters(text);
    TRY(read_term(reader, text, ellipsis_rank < 0 ? 0 : ellipsis_rank, term));
    if (term->rank != shape->rank) {
        char shown[SHAPE_TEXT_SIZE];
        return call_fail(reader->call, STATUS_INVALID_ARGUMENT,
            "term '%.*s' of the equation does not fit shape %s", SLICE_PRINT(slice_part(text, 0, 64)),
            shape_text(shape, shown));
    }
    for (int index = 0; index < term->rank; index++) {
        reader->uses[term->labels[index]]++;
        TRY(merge_size(reader, term->labels[index], shape->dims[index]));
        if (term->labels[index] >= EINSUM_LETTERS) {
            int rank = term->labels[index] - EINSUM_LETTERS + 1;
            reader->ellipsis_rank = rank > reader->ellipsis_rank ? rank : reader->ellipsis_rank;
        }
    }
    return STATUS_OK;
}

static Status
read_operands(Reader *reader, Slice list, const InferContext *context)
{
    Einsum *einsum = reader->einsum;
    Slice text;
    bool has_more = true;
    while (has_more) {
        has_more = slice_find(list, ',') < list.size;
        (void)slice_split(&list, ',', &text);
        if (einsum->operand_count == context->node->input_count) {
            return fail_equation(reader, "has more terms than operands");
        }
        TRY(read_operand(
            reader, text, &context->inputs[einsum->operand_count], &einsum->operands[einsum->operand_count]));
        einsum->operand_count++;
    }
    return einsum->operand_count == context->node->input_count
               ? STATUS_OK
               : fail_equation(reader, "has fewer terms than operands");
}

/* The implied output, without "->": the labels that occur once, in the order of the alphabet, capitals
 * first. */
static Status
imply_output(const Reader *reader)
{
    EinsumTerm *output = &reader->einsum->output;
    TRY(push_ellipsis(reader, output, reader->ellipsis_rank));
    for (int position = 0; position < EINSUM_LETTERS; position++) {
        int label = (position + EINSUM_LETTERS / 2) % EINSUM_LETTERS;
        if (reader->uses[label] == 1) {
            TRY(push_label(reader, output, label));
        }
    }
    return STATUS_OK;
}

static Status
read_output(const Reader *reader, Slice text)
{
    EinsumTerm *output = &reader->einsum->output;
    TRY(read_term(reader, text, reader->ellipsis_rank, output));
    for (int index = 0; index < output->rank; index++) {
        if (reader->uses[output->labels[index]] == 0) {
            return fail_equation(reader, "has an output index that no operand has");
        }
    }
    return STATUS_OK;
}

Status
einsum_read(Call *call, Slice equation, const InferContext *context, Einsum *ret_einsum, bool *ret_is_known)
{
    *ret_is_known = true;
    for (uint32_t index = 0; index < context->node->input_count; index++) {
        *ret_is_known = *ret_is_known && context->inputs[index].rank >= 0;
    }
    if (context->node->input_count > EINSUM_OPERANDS_MAX) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "an einsum of %u operands, of which there may be %d",
            context->node->input_count, EINSUM_OPERANDS_MAX);
    }
    if (!*ret_is_known) {
        return STATUS_OK;
    }
    Einsum einsum = {0};
    Reader reader = {.call = call, .equation = equation, .einsum = &einsum};
    size_t arrow = slice_find(equation, '>');
    bool has_arrow = arrow < equation.size && arrow > 0 && equation.data[arrow - 1] == '-';
    TRY(read_operands(&reader, slice_part(equation, 0, has_arrow ? arrow - 1 : SIZE_MAX), context));
    TRY(has_arrow ? read_output(&reader, slice_part(equation, arrow + 1, SIZE_MAX)) : imply_output(&reader));
    *ret_einsum = einsum;
    return STATUS_OK;
}

/* Gives each new label of a term the next index. */
static void
add_labels(EinsumIndices *indices, const Einsum *einsum, const EinsumTerm *term, int *positions)
{
    for (int index = 0; index < term->rank; index++) {
        int label = term->labels[index];
        if (positions[label] < 0) {
            positions[label] = indices->count;
            indices->sizes[indices->count++] = einsum->sizes[label];
        }
    }
}

/* Adds the strides of a term's dimensions to those of their indices; on a diagonal, two dimensions are one
 * index. */
static void
add_strides(EinsumIndices *indices, const EinsumTerm *term, const Shape *shape, const int *positions,
    uint32_t operand)
{
    int64_t stride = 1;
    for (int index = term->rank - 1; index >= 0; index--) {
        int64_t size = shape->dims[index];
        indices->strides[positions[term->labels[index]]][operand] += size == 1 ? 0 : stride;
        stride *= size;
    }
}

EinsumIndices
einsum_indices(const Einsum *einsum, const Shape *const *shapes)
{
    EinsumIndices indices = {0};
    uint32_t last = einsum->operand_count;
    int positions[EINSUM_LABELS_MAX];
    memset(positions, -1, sizeof positions);
    add_labels(&indices, einsum, &einsum->output, positions);
    indices.kept_count = indices.count;
    for (uint32_t index = 0; index < last; index++) {
        add_labels(&indices, einsum, &einsum->operands[index], positions);
        add_strides(&indices, &einsum->operands[index], shapes[index], positions, index);
    }
    add_strides(&indices, &einsum->output, shapes[last], positions, last);
    return indices;
}
