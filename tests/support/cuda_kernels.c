#include "tests/support/cuda_kernels.h"

#include "shared/base/buffer.h"
#include "shared/base/memory.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/cuda_on_cpu/cuda_bench.h"
#include "tests/support/cuda_on_cpu/kernel_rival.h"
#include "tests/support/op_case.h"
#include "tests/support/reference_run.h"
#include "tests/support/tensor_literals.h"

enum { COMPARED_MAX = 512, ARENA_SIZE = 1 << 20 };

extern const KernelFamily *const cuda_kernels_table[];
extern const size_t cuda_kernels_table_count;

static CudaBench bench;
static Device card; /* as the bench's, but for the memory of tensors */
static const char *compared[COMPARED_MAX];
static size_t compared_count;
static size_t comparison_count;
static uint64_t drawing; /* what is drawn next */

static void
release_block(TensorBuffer *buffer)
{
    assert_int_equal(cudaFree(buffer->data), cudaSuccess);
    memory_free(buffer);
}

static TensorBuffer *
allocate_block(Device *device, size_t size)
{
    TensorBuffer *buffer = memory_new(1, sizeof *buffer);
    assert_non_null(buffer);
    *buffer = (TensorBuffer){
        .reference_count = 1, .size = size, .release = release_block, .memory = device->memory_number};
    assert_int_equal(cudaMalloc(&buffer->data, size), cudaSuccess);
    return buffer;
}

int
cuda_kernels_set_up(void **state)
{
    static Call call;
    (void)state;
    cuda_on_cpu_reset(false);
    call = (Call){.arena = arena_new(ARENA_SIZE)};
    bench = cuda_bench_open(&call, "", MIB, 0);
    card = *bench.card;
    card.allocate = allocate_block;
    compared_count = 0;
    arena_free(call.arena);
    return 0;
}

int
cuda_kernels_tear_down(void **state)
{
    (void)state;
    cuda_bench_close(&bench);
    cuda_on_cpu_reset(true);
    return 0;
}

bool
cuda_kernels_compared(const char *op)
{
    for (size_t index = 0; index < compared_count; index++) {
        if (strcmp(compared[index], op) == 0) {
            return true;
        }
    }
    return false;
}

static void
note_compared(const char *op)
{
    comparison_count++;
    if (!cuda_kernels_compared(op)) {
        assert_true(compared_count < COMPARED_MAX);
        compared[compared_count++] = op;
    }
}

/* Returns the tensor with its elements on the card. */
static Tensor
upload(const Tensor *tensor)
{
    Tensor copy = *tensor;
    copy.buffer = NULL;
    copy.data = NULL;
    size_t size = tensor_byte_size(tensor);
    if (tensor->dtype != DTYPE_INVALID && size > 0) {
        copy.buffer = card.allocate(&card, size);
        copy.data = copy.buffer->data;
        assert_int_equal(cudaMemcpy(copy.data, tensor->data, size, cudaMemcpyHostToDevice), cudaSuccess);
    }
    return copy;
}

/* Replaces the tensor by one on the host, when its elements are on the card. */
static void
download(Tensor *tensor)
{
    if (tensor_is_on_host(tensor)) {
        return;
    }
    Tensor copy;
    assert_true(tensor_new(tensor->dtype, &tensor->shape, &copy));
    assert_int_equal(
        cudaMemcpy(copy.data, tensor->data, tensor_byte_size(tensor), cudaMemcpyDeviceToHost), cudaSuccess);
    tensor_unref(tensor);
    *tensor = copy;
}

static Status
run_kernel(Call *call, const Kernel *kernel, KernelContext *context)
{
    void *state = NULL;
    if (kernel->create != NULL) {
        TRY(kernel->create(call, context->node, &state));
    }
    context->state = state;
    bench.card->enter(bench.card, bench.lane);
    Status status = kernel->compute(context);
    Call other = {0};
    assert_status(&other, STATUS_OK, bench.card->leave(&other, bench.card, bench.lane));
    if (kernel->destroy != NULL) {
        kernel->destroy(state);
    }
    return status;
}

static Status
compute_on_card(Call *call, const Kernel *kernel, const Node *node, const Tensor *inputs, Tensor *ret_outputs)
{
    Tensor given[OP_CASE_TENSORS_MAX] = {0};
    for (uint32_t index = 0; index < node->input_count; index++) {
        given[index] =
            kernel_wants_host(kernel, node, index) ? tensor_ref(&inputs[index]) : upload(&inputs[index]);
    }
    KernelContext context = {.call = call,
        .device = &card,
        .host = bench.host,
        .lane = bench.lane,
        .host_outputs = kernel->host_outputs,
        .node = node,
        .inputs = given,
        .input_count = node->input_count,
        .outputs = ret_outputs,
        .output_count = node->output_count};
    Status status = run_kernel(call, kernel, &context);
    for (uint32_t index = 0; index < node->output_count; index++) {
        download(&ret_outputs[index]);
    }
    for (uint32_t index = 0; index < node->input_count; index++) {
        tensor_unref(&given[index]);
    }
    return status;
}

/* Rounding of float32 grows with the number of terms: sums of a few thousand are the longest here. Integers,
 * bools and what is only moved are the same. */
static double
tolerance_of(Dtype dtype)
{
    static const double tolerances[DTYPE_COUNT] = {
        [DTYPE_FLOAT16] = 2e-3, [DTYPE_BFLOAT16] = 1.6e-2, [DTYPE_FLOAT32] = 1e-5, [DTYPE_FLOAT64] = 1e-12};
    return tolerances[dtype];
}

static bool
outputs_are_near(const Node *node, const Tensor *actual, const Tensor *expected)
{
    for (uint32_t index = 0; index < node->output_count; index++) {
        if (!tensor_is_near(&actual[index], &expected[index], tolerance_of(expected[index].dtype))) {
            print_error("… in output %u on the card\n", index);
            return false;
        }
    }
    return true;
}

static bool
ends_alike(const Call *call, Status status, const Call *card_call, Status card_status)
{
    const char *expected = status == STATUS_OK ? "" : call->error.message;
    const char *actual = card_status == STATUS_OK ? "" : card_call->error.message;
    bool is_alike = status == card_status && strcmp(expected, actual) == 0;
    if (!is_alike) {
        print_error("on the card %s: %s\nnot         %s: %s\n", status_name(card_status), actual,
            status_name(status), expected);
    }
    return is_alike;
}

Status
cuda_kernels_compute(Call *call, const Node *node, Tensor *inputs, Tensor *outputs)
{
    const Kernel *kernel = cuda_kernel_find(node);
    if (kernel == NULL) {
        return STATUS_CANCELLED;
    }
    AUTO_ARENA arena = arena_new(ARENA_SIZE);
    Call card_call = {.arena = arena};
    Tensor actual[OP_CASE_TENSORS_MAX] = {0};
    Status card_status = compute_on_card(&card_call, kernel, node, inputs, actual);
    Status status = reference_compute(call, node, inputs, outputs);
    bool is_right = ends_alike(call, status, &card_call, card_status) &&
                    (status != STATUS_OK || outputs_are_near(node, actual, outputs));
    for (uint32_t index = 0; index < node->output_count; index++) {
        tensor_unref(&actual[index]);
    }
    note_compared(kernel->op);
    Status compared_status = status == STATUS_OK ? STATUS_OK : STATUS_CANCELLED;
    return is_right ? compared_status : call_fail(call, STATUS_INTERNAL, "the card computes something else");
}

/* Returns a small number; with `is_factor` one near 1 or -1, of which a product of thousands is neither 0 nor
 * infinite, so that its order matters little. */
static double
number_of(int drawn, bool is_factor)
{
    double factor = 1 + (drawn - 48) / 4800.0;
    return !is_factor ? (drawn - 48) / 16.0 : drawn % 2 == 0 ? factor : -factor;
}

/* Draws small numbers, of both signs where the dtype has them. */
static void
append_elements(Buffer *text, Dtype dtype, int64_t count, bool is_factor)
{
    bool is_unsigned = dtype >= DTYPE_UINT8 && dtype <= DTYPE_UINT64;
    bool is_complex = dtype_is_complex(dtype);
    for (int64_t index = 0; index < (is_complex ? 2 : 1) * count; index++) {
        drawing = drawing * 6364136223846793005U + 1442695040888963407U;
        int drawn = (int)(drawing >> 33) % 97;
        if (dtype == DTYPE_BOOL) {
            buffer_append_format(text, " %d", drawn % 2);
        } else if (dtype_is_floating(dtype) || is_complex) {
            buffer_append_format(text, " %g", number_of(drawn, is_factor));
        } else {
            buffer_append_format(text, " %d", is_unsigned ? drawn % 13 : drawn % 13 - 6);
        }
    }
}

static int64_t
count_elements(const char *shape)
{
    int64_t count = 1;
    for (const char *at = shape + 1; *at != '\0' && *at != ']';) {
        char *end = NULL;
        count *= strtoll(at, &end, 10);
        at = *end == ',' ? end + 1 : end;
    }
    return count;
}

/* Writes an input; T stands for this dtype. */
static void
write_input(const char *op, const char *input, Dtype dtype, Buffer *ret_text)
{
    const char *shape = strchr(input, '[');
    if (shape == NULL) {
        return; /* an absent one */
    }
    Dtype own = input[0] == 'T' ? dtype : dtype_from_name((Slice){input, (size_t)(shape - input)});
    buffer_append_format(ret_text, "%s%s", dtype_name(own), shape);
    if (strchr(shape, ' ') == NULL) {
        append_elements(ret_text, own, count_elements(shape), strstr(op, "Prod") != NULL);
    }
}

/* Returns the last of the dtypes that a case is run in: one that names its dtypes is run once, and numbers
 * that are written down are not complex. */
static Dtype
last_dtype(const CudaKernelCase *kernel_case)
{
    Dtype last = DTYPE_BOOL;
    for (size_t index = 0; index < CUDA_CASE_INPUTS_MAX && kernel_case->inputs[index] != NULL; index++) {
        const char *input = kernel_case->inputs[index];
        if (input[0] == 'T' && strchr(input, ' ') != NULL) {
            return DTYPE_FLOAT64;
        }
        last = input[0] == 'T' ? DTYPE_COMPLEX128 : last;
    }
    return last;
}

static void
run_case(const CudaKernelCase *kernel_case, Dtype dtype)
{
    Buffer texts[CUDA_CASE_INPUTS_MAX] = {0};
    OpCase op_case = {.op = kernel_case->op, .attrs = kernel_case->attrs};
    drawing = 1; /* a case draws the same whatever comes before it */
    for (size_t index = 0; index < CUDA_CASE_INPUTS_MAX && kernel_case->inputs[index] != NULL; index++) {
        write_input(kernel_case->op, kernel_case->inputs[index], dtype, &texts[index]);
        op_case.inputs[index] = buffer_string(&texts[index]);
        assert_non_null(op_case.inputs[index]);
    }
    op_cases_run_by(cuda_kernels_compute, &op_case, 1);
    for (size_t index = 0; index < CUDA_CASE_INPUTS_MAX; index++) {
        buffer_done(&texts[index]);
    }
}

void
cuda_kernels_compare(const CudaKernelCase *cases, size_t count)
{
    for (size_t index = 0; index < count; index++) {
        size_t before = comparison_count;
        Dtype last = last_dtype(&cases[index]);
        for (Dtype dtype = DTYPE_BOOL; dtype <= last; dtype++) {
            run_case(&cases[index], dtype);
        }
        if (comparison_count == before) {
            fail_msg("case %zu: no kernel of the card takes '%s' {%s}", index, cases[index].op,
                cases[index].attrs == NULL ? "" : cases[index].attrs);
        }
    }
}
