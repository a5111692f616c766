#include "shared/ops/diagonal/rule.h"

static int64_t
smaller(int64_t left, int64_t right)
{
    return left < right ? left : right;
}

static int64_t
larger(int64_t left, int64_t right)
{
    return left > right ? left : right;
}

int64_t
diagonals_length(const Diagonals *diagonals, int64_t diagonal)
{
    return smaller(diagonals->rows + smaller(diagonal, 0), diagonals->columns - larger(diagonal, 0));
}

/* Reads k from input `input`: one diagonal, or the lowest and the highest. Versions before V2 have the
 * main diagonal only. */
static Status
read_band(Call *call, const InferContext *context, uint32_t input, Diagonals *diagonals)
{
    int64_t band[2] = {0, 0};
    size_t count = 1;
    diagonals->is_known = true;
    if (input < context->node->input_count) {
        TRY(infer_ints(call, context, input, band, 2, &count));
        diagonals->is_known = infer_knows(context, input);
    }
    diagonals->lower = band[0];
    diagonals->upper = band[count == 2 ? 1 : 0];
    if (diagonals->is_known && (count == 0 || diagonals->lower > diagonals->upper ||
                                   diagonals->lower < -INT32_MAX || diagonals->upper > INT32_MAX)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "diagonals %lld to %lld are no band",
            (long long)diagonals->lower, (long long)diagonals->upper);
    }
    return STATUS_OK;
}

static Status
read_align(Call *call, const Node *node, Diagonals *diagonals)
{
    static const char *const names[] = {"LEFT_LEFT", "LEFT_RIGHT", "RIGHT_LEFT", "RIGHT_RIGHT"};
    Slice align =
        node_attr(node, "align") == NULL ? slice_from_string(names[0]) : node_attr_string(node, "align");
    for (unsigned index = 0; index < COUNT_OF(names); index++) {
        if (slice_equals_string(align, names[index])) {
            diagonals->is_upper_right = (index & 2) != 0;
            diagonals->is_lower_right = (index & 1) != 0;
            return STATUS_OK;
        }
    }
    return call_fail(
        call, STATUS_INVALID_ARGUMENT, "there is no alignment '%.*s' of diagonals", SLICE_PRINT(align));
}

static Shape
without_last(const Shape *shape, int count)
{
    Shape result = *shape;
    result.rank -= count;
    return result;
}

static void
append_dimension(Shape *shape, int64_t size)
{
    shape->dims[shape->rank++] = size;
}

static Shape
packed_shape(const Diagonals *diagonals)
{
    Shape shape = diagonals->batch;
    if (diagonals->lower != diagonals->upper) {
        append_dimension(&shape, diagonals->upper - diagonals->lower + 1);
    }
    append_dimension(&shape, diagonals->length_max);
    return shape;
}

static Status
check_within(Call *call, Diagonals *diagonals)
{
    bool is_outside = (diagonals->lower <= -diagonals->rows && diagonals->lower != 0) ||
                      (diagonals->upper >= diagonals->columns && diagonals->upper != 0);
    if (is_outside) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "diagonals %lld to %lld are not within a matrix of %lld by %lld", (long long)diagonals->lower,
            (long long)diagonals->upper, (long long)diagonals->rows, (long long)diagonals->columns);
    }
    diagonals->length_max = larger(0, smaller(diagonals->rows + smaller(diagonals->upper, 0),
                                          diagonals->columns - larger(diagonals->lower, 0)));
    return STATUS_OK;
}

Status
diagonals_of_matrix(Call *call, const InferContext *context, Diagonals *ret_diagonals)
{
    bool is_set = context->node->op->name.size >= 9 &&
                  slice_equal(slice_part(context->node->op->name, 6, 3), SLICE("Set"));
    const Shape *matrix = &context->inputs[0];
    Diagonals diagonals = {.output = is_set ? *matrix : shape_unknown()};
    TRY(read_band(call, context, is_set ? 2 : 1, &diagonals));
    TRY(read_align(call, context->node, &diagonals));
    if (matrix->rank >= 0 && matrix->rank < 2) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "rank %d is no matrix", matrix->rank);
    }
    diagonals.is_known = diagonals.is_known && matrix->rank >= 2 && matrix->dims[matrix->rank - 1] >= 0 &&
                         matrix->dims[matrix->rank - 2] >= 0;
    if (diagonals.is_known) {
        diagonals.rows = matrix->dims[matrix->rank - 2];
        diagonals.columns = matrix->dims[matrix->rank - 1];
        diagonals.batch = without_last(matrix, 2);
        TRY(check_within(call, &diagonals));
        Shape packed = packed_shape(&diagonals);
        Shape merged;
        if (is_set && !shape_merge(&packed, &context->inputs[1], &merged)) {
            char left[SHAPE_TEXT_SIZE];
            char right[SHAPE_TEXT_SIZE];
            return call_fail(call, STATUS_INVALID_ARGUMENT, "the diagonals have shape %s, not %s",
                shape_text(&context->inputs[1], left), shape_text(&packed, right));
        }
        diagonals.output = is_set ? *matrix : packed;
    }
    *ret_diagonals = diagonals;
    return STATUS_OK;
}

/* A size that is not given (-1) is as small as the diagonals allow; without both, the matrix is square. */
static Status
size_matrix(Call *call, int64_t rows, int64_t columns, Diagonals *diagonals)
{
    int64_t rows_min = diagonals->length_max - smaller(diagonals->upper, 0);
    int64_t columns_min = diagonals->length_max + larger(diagonals->lower, 0);
    bool is_square = rows == -1 && columns == -1;
    diagonals->rows = is_square ? larger(rows_min, columns_min) : rows == -1 ? rows_min : rows;
    diagonals->columns = is_square ? diagonals->rows : columns == -1 ? columns_min : columns;
    if (diagonals->rows < rows_min || diagonals->columns < columns_min ||
        (diagonals->rows != rows_min && diagonals->columns != columns_min)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "a matrix of %lld by %lld does not hold diagonals %lld to %lld of at most %lld elements",
            (long long)diagonals->rows, (long long)diagonals->columns, (long long)diagonals->lower,
            (long long)diagonals->upper, (long long)diagonals->length_max);
    }
    return STATUS_OK;
}

/* The last dimension of packed diagonals is their length; a band has a dimension for its rows before it. */
static Status
read_packed(Call *call, const Shape *packed, Diagonals *diagonals)
{
    int64_t count = diagonals->upper - diagonals->lower + 1;
    int own = count == 1 ? 1 : 2;
    if (packed->rank < own) {
        return call_fail(
            call, STATUS_INVALID_ARGUMENT, "rank %d is too small for packed diagonals", packed->rank);
    }
    if (own == 2) {
        int64_t rows = 0;
        TRY(infer_equal(call, packed->dims[packed->rank - 2], count, "the number of diagonals", &rows));
    }
    diagonals->length_max = packed->dims[packed->rank - 1];
    diagonals->batch = without_last(packed, own);
    return diagonals->batch.rank + 2 > SHAPE_RANK_MAX
               ? call_fail(call, STATUS_INVALID_ARGUMENT, "more than %d dimensions", SHAPE_RANK_MAX)
               : STATUS_OK;
}

Status
diagonals_to_matrix(Call *call, const InferContext *context, Diagonals *ret_diagonals)
{
    const Shape *packed = &context->inputs[0];
    Diagonals diagonals = {.output = shape_unknown()};
    int64_t sizes[2] = {-1, -1};
    TRY(read_band(call, context, 1, &diagonals));
    TRY(read_align(call, context->node, &diagonals));
    for (uint32_t index = 0; index < 2 && context->node->input_count > 2; index++) {
        bool is_known = false;
        TRY(infer_int(call, context, 2 + index, &sizes[index], &is_known));
        diagonals.is_known = diagonals.is_known && is_known;
    }
    diagonals.is_known = diagonals.is_known && packed->rank >= 0;
    if (diagonals.is_known) {
        TRY(read_packed(call, packed, &diagonals));
    }
    diagonals.is_known = diagonals.is_known && diagonals.length_max >= 0;
    if (diagonals.is_known) {
        TRY(size_matrix(call, sizes[0], sizes[1], &diagonals));
        diagonals.output = diagonals.batch;
        append_dimension(&diagonals.output, diagonals.rows);
        append_dimension(&diagonals.output, diagonals.columns);
        TRY(infer_check_size(call, &diagonals.output));
    }
    *ret_diagonals = diagonals;
    return STATUS_OK;
}
