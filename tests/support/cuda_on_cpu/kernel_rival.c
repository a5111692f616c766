#include "tests/support/cuda_on_cpu/kernel_rival.h"

extern const KernelFamily *const cuda_kernels_table[];
extern const size_t cuda_kernels_table_count;

const Kernel *
cuda_kernel_find(const Node *node)
{
    for (size_t family = 0; family < cuda_kernels_table_count; family++) {
        for (size_t index = 0; index < cuda_kernels_table[family]->kernel_count; index++) {
            const Kernel *kernel = &cuda_kernels_table[family]->kernels[index];
            if (slice_equals_string(node->op->name, kernel->op) &&
                (kernel->supports == NULL || kernel->supports(node))) {
                return kernel;
            }
        }
    }
    return NULL;
}

/* Copies a tensor's elements into a new buffer of the card's, or of the host's. */
static Tensor
move_tensor(const CudaBench *bench, const Tensor *tensor, bool to_card)
{
    Tensor moved = *tensor;
    size_t size = tensor_byte_size(tensor);
    moved.buffer = NULL;
    moved.data = NULL;
    if (tensor->dtype == DTYPE_INVALID || size == 0) {
        return moved;
    }
    moved.buffer = to_card ? cuda_bench_new(bench, size) : tensor_buffer_new(size);
    assert_non_null(moved.buffer);
    moved.data = moved.buffer->data;
    WaitedCopy waited = {.status = STATUS_OK};
    TensorBuffer *from = tensor->buffer;
    cuda_bench_begin(bench, &waited, from, moved.buffer);
    assert_int_equal(cuda_bench_await(&waited), STATUS_OK);
    return moved;
}

static Status
run_kernel(const CudaBench *bench, const Kernel *kernel, KernelContext *context)
{
    void *state = NULL;
    if (kernel->create != NULL) {
        TRY(kernel->create(context->call, context->node, &state));
    }
    context->state = state;
    bench->card->enter(bench->card, bench->lane);
    Status status = kernel->compute(context);
    Call leaving = {0};
    assert_status(&leaving, STATUS_OK, bench->card->leave(&leaving, bench->card, bench->lane));
    if (kernel->destroy != NULL) {
        kernel->destroy(state);
    }
    return status;
}

static Status
compute_on_card(void *opaque, Call *call, const Node *node, const Tensor *inputs, Tensor *outputs)
{
    const CudaBench *bench = opaque;
    const Kernel *kernel = cuda_kernel_find(node);
    Tensor moved[OP_CASE_TENSORS_MAX] = {0};
    Tensor made[OP_CASE_TENSORS_MAX] = {0};
    if (kernel == NULL) {
        return call_fail(call, STATUS_UNIMPLEMENTED, "no kernel for '%.*s'", SLICE_PRINT(node->op->name));
    }
    for (uint32_t index = 0; index < node->input_count; index++) {
        moved[index] = kernel_wants_host(kernel, node, index) ? tensor_ref(&inputs[index])
                                                              : move_tensor(bench, &inputs[index], true);
    }
    KernelContext context = {.call = call,
        .device = bench->card,
        .host = bench->host,
        .lane = bench->lane,
        .host_outputs = kernel->host_outputs,
        .node = node,
        .inputs = moved,
        .input_count = node->input_count,
        .outputs = made,
        .output_count = node->output_count};
    Status status = run_kernel(bench, kernel, &context);
    for (uint32_t index = 0; index < OP_CASE_TENSORS_MAX; index++) {
        if (status == STATUS_OK && index < node->output_count) {
            outputs[index] = kernel_bit(kernel->host_outputs, index)
                                 ? tensor_ref(&made[index])
                                 : move_tensor(bench, &made[index], false);
        }
        tensor_unref(&moved[index]);
        tensor_unref(&made[index]);
    }
    return status;
}

void
cuda_cases_compare(const OpCase *cases, size_t count, const Dtype *dtypes, size_t dtype_count)
{
    Call call = {.arena = arena_new(MIB)};
    cuda_on_cpu_reset(false);
    CudaBench bench = cuda_bench_open(&call, "", 64 * MIB, 4 * MIB);
    OpRival rival = {.compute = compute_on_card, .context = &bench};
    op_cases_compare(cases, count, dtypes, dtype_count, &rival);
    char message[ERROR_MESSAGE_SIZE];
    assert_int_equal(cuda_bench_fence(&bench, message), STATUS_OK);
    cuda_bench_close(&bench);
    arena_free(call.arena);
}
