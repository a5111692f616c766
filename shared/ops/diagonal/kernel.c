/* Diagonals of matrices: elements copied between a matrix and its packed diagonals. */
#include "shared/ops/diagonal/rule.h"
#include "worker/reference/band.h"
#include "worker/reference/fill.h"
#include "worker/reference/moves.h"
#include "worker/reference/outputs.h"

static bool
supports_copyable(const Node *node)
{
    return dtype_is_copyable(node->output_dtypes[0]);
}

/* The copy of one diagonal of each matrix from the matrices to their packed diagonals. */
static StridedCopy
diagonal_copy(const Diagonals *diagonals, int64_t diagonal)
{
    int64_t length = diagonals_length(diagonals, diagonal);
    bool is_right = diagonal >= 0 ? diagonals->is_upper_right : diagonals->is_lower_right;
    int64_t band = (diagonals->upper - diagonals->lower + 1) * diagonals->length_max;
    int64_t count = 1;
    for (int index = 0; index < diagonals->batch.rank; index++) {
        count *= diagonals->batch.dims[index];
    }
    return (StridedCopy){
        .rank = 2,
        .dims = {count, length < 0 ? 0 : length},
        .from = {diagonals->rows * diagonals->columns, diagonals->columns + 1},
        .to = {band, 1},
        .from_offset = diagonal >= 0 ? diagonal : -diagonal * diagonals->columns,
        .to_offset = (diagonals->upper - diagonal) * diagonals->length_max +
                     (is_right ? diagonals->length_max - length : 0),
    };
}

static Status
pack_diagonals(KernelContext *context, const Diagonals *diagonals, const Tensor *matrices, Tensor *packs)
{
    for (int64_t diagonal = diagonals->lower; diagonal <= diagonals->upper; diagonal++) {
        StridedCopy copy = diagonal_copy(diagonals, diagonal);
        TRY(move_elements(context, &copy, matrices, packs));
    }
    return STATUS_OK;
}

static Status
unpack_diagonals(KernelContext *context, const Diagonals *diagonals, const Tensor *packs, Tensor *matrices)
{
    for (int64_t diagonal = diagonals->lower; diagonal <= diagonals->upper; diagonal++) {
        StridedCopy pack = diagonal_copy(diagonals, diagonal);
        StridedCopy copy = strided_reverse(&pack);
        TRY(move_elements(context, &copy, packs, matrices));
    }
    return STATUS_OK;
}

/* Fills with the padding value of input `input`, or with zero when there is none. */
static Status
fill_padding(KernelContext *context, uint32_t input, Tensor *output)
{
    if (input >= context->input_count) {
        return move_zeros_into(context, output);
    }
    if (tensor_element_count(&context->inputs[input]) != 1) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT, "the padding value is not one value");
    }
    return move_element_into(context, output, context->inputs[input].data);
}

static Status
diag_compute(KernelContext *context)
{
    KernelInference inference;
    Diagonals diagonals;
    Tensor *output = NULL;
    kernel_inference(context, NULL, &inference);
    TRY(diagonals_to_matrix(context->call, &inference.context, &diagonals));
    TRY(kernel_output(context, 0, context->inputs[0].dtype, &diagonals.output, &output));
    TRY(fill_padding(context, 4, output));
    return unpack_diagonals(context, &diagonals, &context->inputs[0], output);
}

static Status
diag_part_compute(KernelContext *context)
{
    KernelInference inference;
    Diagonals diagonals;
    Tensor *output = NULL;
    kernel_inference(context, NULL, &inference);
    TRY(diagonals_of_matrix(context->call, &inference.context, &diagonals));
    TRY(kernel_output(context, 0, context->inputs[0].dtype, &diagonals.output, &output));
    TRY(fill_padding(context, 2, output));
    return pack_diagonals(context, &diagonals, &context->inputs[0], output);
}

static Status
set_diag_compute(KernelContext *context)
{
    KernelInference inference;
    Diagonals diagonals;
    Tensor *output = NULL;
    kernel_inference(context, NULL, &inference);
    TRY(diagonals_of_matrix(context->call, &inference.context, &diagonals));
    TRY(kernel_output(context, 0, context->inputs[0].dtype, &diagonals.output, &output));
    StridedCopy whole = {.rank = 1, .dims = {tensor_element_count(output)}, .from = {1}, .to = {1}};
    TRY(move_elements(context, &whole, &context->inputs[0], output));
    return unpack_diagonals(context, &diagonals, &context->inputs[1], output);
}

typedef struct Bytes {
    char *data;
    size_t size; /* bytes of an element */
} Bytes;

static void
copy_element(const Bytes *from, int64_t from_index, const Bytes *to, int64_t to_index)
{
    memcpy(to->data + (size_t)to_index * to->size, from->data + (size_t)from_index * from->size, to->size);
}

static Status
band_part_compute(KernelContext *context)
{
    const Tensor *input = &context->inputs[0];
    Tensor *output = NULL;
    Band band;
    TRY(output_new(context, &output));
    TRY(band_read(context, &band));
    fill_zero(output);
    Bytes from = {input->data, dtype_size(input->dtype)};
    Bytes to = {output->data, from.size};
    int64_t count = tensor_element_count(input);
    for (int64_t element = 0; element < count; element++) {
        int64_t below = element / band.columns % band.rows - element % band.columns;
        if ((band.lower < 0 || below <= band.lower) && (band.upper < 0 || -below <= band.upper)) {
            copy_element(&from, element, &to, element);
        }
    }
    return STATUS_OK;
}

/* Reads the first diagonal that onnx::Trilu keeps, or the last one when it keeps the lower triangle; one
 * beyond the matrix is brought to its edge. */
static Status
read_triangle(KernelContext *context, int64_t rows, int64_t columns, int64_t *ret_diagonal)
{
    int64_t k = 0;
    size_t count = 0;
    if (context->input_count > 1 && context->inputs[1].dtype != DTYPE_INVALID) {
        TRY(kernel_input_ints(context, 1, &k, 1, &count));
    }
    k = k < -rows ? -rows : k;
    *ret_diagonal = k > columns ? columns : k;
    return STATUS_OK;
}

static int64_t
clamp_column(int64_t column, int64_t columns)
{
    return column < 0 ? 0 : column > columns ? columns : column;
}

static Status
trilu_compute(KernelContext *context)
{
    const Tensor *input = &context->inputs[0];
    Tensor *output = NULL;
    int64_t diagonal = 0;
    TRY(output_new(context, &output));
    int64_t rows = input->shape.dims[input->shape.rank - 2];
    int64_t columns = input->shape.dims[input->shape.rank - 1];
    size_t size = dtype_size(input->dtype);
    bool is_upper = node_attr_int(context->node, "upper") != 0;
    TRY(read_triangle(context, rows, columns, &diagonal));
    fill_zero(output);
    int64_t lines = columns == 0 ? 0 : tensor_element_count(input) / columns;
    for (int64_t line = 0; line < lines; line++) {
        int64_t column = line % rows + diagonal;
        int64_t first = is_upper ? clamp_column(column, columns) : 0;
        int64_t end = is_upper ? columns : clamp_column(column + 1, columns);
        size_t offset = (size_t)(line * columns + first) * size;
        memcpy(
            (char *)output->data + offset, (const char *)input->data + offset, (size_t)(end - first) * size);
    }
    return STATUS_OK;
}

/* The copy of the main diagonal of a square of `count` × `count` elements to a vector. */
static StridedCopy
main_diagonal_copy(int64_t count)
{
    return (StridedCopy){.rank = 1, .dims = {count}, .from = {count + 1}, .to = {1}};
}

static Status
diag_square_compute(KernelContext *context)
{
    const Tensor *input = &context->inputs[0];
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    TRY(move_zeros_into(context, output));
    StridedCopy part = main_diagonal_copy(tensor_element_count(input));
    StridedCopy copy = strided_reverse(&part);
    return move_elements(context, &copy, input, output);
}

static Status
diag_square_part_compute(KernelContext *context)
{
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    StridedCopy copy = main_diagonal_copy(tensor_element_count(output));
    return move_elements(context, &copy, &context->inputs[0], output);
}

static const Kernel diagonal_kernels[] = {
    {.op = "MatrixDiag", .supports = supports_copyable, .compute = diag_compute},
    {.op = "MatrixDiagV2", .supports = supports_copyable, .compute = diag_compute, .host_inputs = 0x1e},
    {.op = "MatrixDiagV3", .supports = supports_copyable, .compute = diag_compute, .host_inputs = 0x1e},
    {.op = "MatrixDiagPart", .supports = supports_copyable, .compute = diag_part_compute},
    {.op = "MatrixDiagPartV2",
        .supports = supports_copyable,
        .compute = diag_part_compute,
        .host_inputs = 0x6},
    {.op = "MatrixDiagPartV3",
        .supports = supports_copyable,
        .compute = diag_part_compute,
        .host_inputs = 0x6},
    {.op = "MatrixSetDiag", .supports = supports_copyable, .compute = set_diag_compute},
    {.op = "MatrixSetDiagV2", .supports = supports_copyable, .compute = set_diag_compute, .host_inputs = 0x4},
    {.op = "MatrixSetDiagV3", .supports = supports_copyable, .compute = set_diag_compute, .host_inputs = 0x4},
    {.op = "MatrixBandPart", .supports = supports_copyable, .compute = band_part_compute, .host_inputs = 0x6},
    {.op = "onnx::Trilu", .supports = supports_copyable, .compute = trilu_compute, .host_inputs = 0x2},
    {.op = "Diag", .supports = supports_copyable, .compute = diag_square_compute},
    {.op = "DiagPart", .supports = supports_copyable, .compute = diag_square_part_compute},
};

KERNEL_FAMILY(reference, diagonal, diagonal_kernels);
