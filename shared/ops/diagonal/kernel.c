/* Diagonals of matrices: elements copied between a matrix and its packed diagonals. */
#include "shared/ops/diagonal/rule.h"
#include "worker/reference/band.h"
#include "worker/reference/fill.h"
#include "worker/reference/outputs.h"

static bool
supports_copyable(const Node *node)
{
    return dtype_is_copyable(node->output_dtypes[0]);
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

/* The matrices and their packed diagonals, between which elements are copied. */
typedef struct Sides {
    const Diagonals *diagonals;
    Bytes matrices;
    Bytes packs;
    bool to_matrix;
} Sides;

/* Copies one diagonal between the matrix at element `matrix` and the packed diagonals at element `packed`. */
static void
copy_diagonal(const Sides *sides, int64_t diagonal, int64_t matrix, int64_t packed)
{
    const Diagonals *diagonals = sides->diagonals;
    int64_t length = diagonals_length(diagonals, diagonal);
    bool is_right = diagonal >= 0 ? diagonals->is_upper_right : diagonals->is_lower_right;
    int64_t row = packed + (diagonals->upper - diagonal) * diagonals->length_max +
                  (is_right ? diagonals->length_max - length : 0);
    int64_t first = matrix + (diagonal >= 0 ? diagonal : -diagonal * diagonals->columns);
    for (int64_t n = 0; n < length; n++) {
        int64_t position = first + n * (diagonals->columns + 1);
        if (sides->to_matrix) {
            copy_element(&sides->packs, row + n, &sides->matrices, position);
        } else {
            copy_element(&sides->matrices, position, &sides->packs, row + n);
        }
    }
}

static void
copy_all(const Diagonals *diagonals, const Tensor *matrices, const Tensor *packs, bool to_matrix)
{
    size_t size = dtype_size(matrices->dtype);
    Sides sides = {diagonals, {matrices->data, size}, {packs->data, size}, to_matrix};
    int64_t area = diagonals->rows * diagonals->columns;
    int64_t band = (diagonals->upper - diagonals->lower + 1) * diagonals->length_max;
    int64_t count = 1;
    for (int index = 0; index < diagonals->batch.rank; index++) {
        count *= diagonals->batch.dims[index];
    }
    for (int64_t n = 0; n < count && area > 0 && band > 0; n++) {
        for (int64_t diagonal = diagonals->lower; diagonal <= diagonals->upper; diagonal++) {
            copy_diagonal(&sides, diagonal, n * area, n * band);
        }
    }
}

/* Fills with the padding value of input `input`, or with zero when there is none. */
static Status
fill_padding(KernelContext *context, uint32_t input, Tensor *output)
{
    if (input >= context->input_count) {
        fill_zero(output);
        return STATUS_OK;
    }
    if (tensor_element_count(&context->inputs[input]) != 1) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT, "the padding value is not one value");
    }
    fill_element(output, context->inputs[input].data);
    return STATUS_OK;
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
    copy_all(&diagonals, output, &context->inputs[0], true);
    return STATUS_OK;
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
    copy_all(&diagonals, &context->inputs[0], output, false);
    return STATUS_OK;
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
    if (tensor_element_count(output) > 0) {
        memcpy(output->data, context->inputs[0].data, tensor_byte_size(output));
    }
    copy_all(&diagonals, output, &context->inputs[1], true);
    return STATUS_OK;
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

static Status
diag_square_compute(KernelContext *context)
{
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    fill_zero(output);
    int64_t count = tensor_element_count(&context->inputs[0]);
    Bytes from = {context->inputs[0].data, dtype_size(output->dtype)};
    Bytes to = {output->data, from.size};
    for (int64_t n = 0; n < count; n++) {
        copy_element(&from, n, &to, n * (count + 1));
    }
    return STATUS_OK;
}

static Status
diag_square_part_compute(KernelContext *context)
{
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    int64_t count = tensor_element_count(output);
    Bytes from = {context->inputs[0].data, dtype_size(output->dtype)};
    Bytes to = {output->data, from.size};
    for (int64_t n = 0; n < count; n++) {
        copy_element(&from, n * (count + 1), &to, n);
    }
    return STATUS_OK;
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
    {.op = "Diag", .supports = supports_copyable, .compute = diag_square_compute},
    {.op = "DiagPart", .supports = supports_copyable, .compute = diag_square_part_compute},
};

KERNEL_FAMILY(reference, diagonal, diagonal_kernels);
