#include "tests/support/cuda_kernels.h"

#include "shared/base/buffer.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"
#include "shared/ops/registry.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/cuda_on_cpu/cuda_bench.h"
#include "tests/support/op_case.h"
#include "tests/support/reference_run.h"
#include "tests/support/tensor_literals.h"
#include "worker/cuda/blas/product.h"
#include "worker/cuda/dnn/attention.h"
#include "worker/cuda/dnn/convolution.h"
#include "worker/cuda/libraries.h"
#include "worker/cuda/run.h"

enum { ROWS_MAX = 1024, BLOCK_THREADS = 256, ARENA_SIZE = 1 << 20 };

extern const KernelFamily *const cuda_kernels_table[];
extern const size_t cuda_kernels_table_count;

static CudaBench bench;
static Device card; /* as the bench's, but for the memory of tensors */

/* A kernel of the table, and what the cases have shown of it. In a set of dtypes bit i is dtype i; the bit of
 * DTYPE_INVALID is that of cases without a T. */
typedef struct Row {
    const Kernel *kernel;
    const char *file; /* of its family */
    uint64_t taken;
    uint64_t compared;
    bool was_empty; /* a tensor had no elements */
    bool was_large; /* one had more than a block has threads */
} Row;

static Row rows[ROWS_MAX];
static size_t row_count;
static Dtype dtype_now; /* of the case that is run, in place of T */
static size_t comparison_count;
static uint64_t drawing; /* what is drawn next */
static bool allows_tf32;

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

/* The bench's functions know the bench's own device. */
static void
begin_copy(Device *device, DeviceCopy *copy)
{
    (void)device;
    bench.card->copy(bench.card, copy);
}

static void
list_rows(void)
{
    row_count = 0;
    for (size_t family = 0; family < cuda_kernels_table_count; family++) {
        for (size_t index = 0; index < cuda_kernels_table[family]->kernel_count; index++) {
            assert_true(row_count < ROWS_MAX);
            rows[row_count++] = (Row){.kernel = &cuda_kernels_table[family]->kernels[index],
                .file = cuda_kernels_table[family]->file};
        }
    }
}

/* Returns the first kernel that supports the node, as kernel_find() would; NULL when there is none. */
static Row *
find_row(const Node *node)
{
    for (size_t index = 0; index < row_count; index++) {
        const Kernel *kernel = rows[index].kernel;
        if (slice_equals_string(node->op->name, kernel->op) &&
            (kernel->supports == NULL || kernel->supports(node))) {
            return &rows[index];
        }
    }
    return NULL;
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
    card.copy = begin_copy;
    allows_tf32 = false;
    list_rows();
    arena_free(call.arena);
    return 0;
}

void
cuda_kernels_allow_tf32(bool is_allowed)
{
    allows_tf32 = is_allowed;
}

static void
print_library_fact(const char *what, bool is_open, uint64_t by_library, uint64_t all)
{
    if (all > 0 && !is_open) {
        print_message("skipped: no library for %s\n", what);
    } else if (all > 0) {
        print_message("fact\t%s\t%llu of %llu by the library\n", what, (unsigned long long)by_library,
            (unsigned long long)all);
    }
}

static void
print_library_facts(void)
{
    uint64_t products = 0;
    uint64_t convolutions = 0;
    uint64_t attentions = 0;
    for (int refusal = BLAS_ACCEPTED; refusal < BLAS_REFUSALS; refusal++) {
        products += blas_refusals((BlasRefusal)refusal);
    }
    for (int refusal = DNN_ACCEPTED; refusal < DNN_REFUSALS; refusal++) {
        convolutions += dnn_refusals((DnnRefusal)refusal);
        attentions += dnn_attention_refusals((DnnRefusal)refusal);
    }
    print_library_fact("products", cuda_blas() != NULL, blas_refusals(BLAS_ACCEPTED), products);
    print_library_fact("convolutions", cuda_dnn() != NULL, dnn_refusals(DNN_ACCEPTED), convolutions);
    print_library_fact("attention", cuda_dnn() != NULL, dnn_attention_refusals(DNN_ACCEPTED), attentions);
}

int
cuda_kernels_tear_down(void **state)
{
    (void)state;
    if (getenv("CUDA_LIBRARIES") != NULL) {
        print_library_facts();
    }
    cuda_bench_close(&bench);
    cuda_on_cpu_reset(true);
    return 0;
}

bool
cuda_kernels_compared(const char *op)
{
    for (size_t index = 0; index < row_count; index++) {
        if (strcmp(rows[index].kernel->op, op) == 0 && rows[index].compared != 0) {
            return true;
        }
    }
    return false;
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

/* Copies that wait are in no order with the lane. */
static void
await_card(void)
{
    assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
}

/* Each kernel is a run of its own. */
static void
renew_lane(void)
{
    bench.card->close_lane(bench.card, bench.lane);
    bench.lane = bench.card->open_lane(bench.card);
    assert_non_null(bench.lane);
}

/* Waits for the end of what the kernel enqueued, and fails with what it refused. */
static Status
await_kernel(Call *call)
{
    const TensorBuffer *record = cuda_run(bench.lane)->record;
    CudaRefused refused = {0};
    Failure failure = {0};
    await_card();
    if (record != NULL) {
        assert_int_equal(
            cudaMemcpy(&refused, record->data, sizeof refused, cudaMemcpyDeviceToHost), cudaSuccess);
    }
    (void)cuda_run_has_refused(&refused, UINT64_MAX, &failure);
    return failure_raise(call, &failure);
}

typedef struct Promised {
    KernelPromise promise; /* first: a KernelPromise is one of these */
    Mutex lock;
    Condition changed;
    Status status;
    bool is_complete;
} Promised;

static void
note_complete(KernelPromise *promise, Status status)
{
    Promised *promised = (Promised *)(void *)promise;
    mutex_lock(&promised->lock);
    promised->status = status;
    promised->is_complete = true;
    condition_signal(&promised->changed);
    mutex_unlock(&promised->lock);
}

static Status
start_kernel(const Kernel *kernel, const KernelContext *context)
{
    Promised promised = {.promise = {.context = *context, .complete = note_complete}};
    mutex_init(&promised.lock);
    condition_init(&promised.changed);
    kernel->start(&promised.promise);
    mutex_lock(&promised.lock);
    while (!promised.is_complete) {
        condition_wait(&promised.changed, &promised.lock);
    }
    mutex_unlock(&promised.lock);
    condition_done(&promised.changed);
    mutex_done(&promised.lock);
    return promised.status;
}

static Status
compute_kernel(const Kernel *kernel, KernelContext *context)
{
    bench.card->enter(bench.card, bench.lane);
    Status status = kernel->compute(context);
    Call other = {0};
    assert_status(&other, STATUS_OK, bench.card->leave(&other, bench.card, bench.lane));
    return status;
}

static Status
run_kernel(Call *call, const Kernel *kernel, KernelContext *context)
{
    void *state = NULL;
    if (kernel->create != NULL) {
        TRY(kernel->create(call, context->node, &state));
    }
    context->state = state;
    Status status = kernel->start != NULL ? start_kernel(kernel, context) : compute_kernel(kernel, context);
    if (kernel->destroy != NULL) {
        kernel->destroy(state);
    }
    return status == STATUS_OK ? await_kernel(call) : status;
}

static Status
compute_on_card(Call *call, const Kernel *kernel, const Node *node, const Tensor *inputs, Tensor *ret_outputs)
{
    Tensor given[OP_CASE_TENSORS_MAX] = {0};
    for (uint32_t index = 0; index < node->input_count; index++) {
        given[index] =
            kernel_wants_host(kernel, node, index) ? tensor_ref(&inputs[index]) : upload(&inputs[index]);
    }
    renew_lane();
    KernelContext context = {.call = call,
        .device = &card,
        .host = bench.host,
        .lane = bench.lane,
        .host_outputs = kernel->host_outputs,
        .allows_tf32 = allows_tf32,
        .node = node,
        .inputs = given,
        .input_count = node->input_count,
        .outputs = ret_outputs,
        .output_count = node->output_count};
    await_card();
    Status status = run_kernel(call, kernel, &context);
    await_card();
    for (uint32_t index = 0; index < node->output_count; index++) {
        download(&ret_outputs[index]);
    }
    for (uint32_t index = 0; index < node->input_count; index++) {
        tensor_unref(&given[index]);
    }
    return status;
}

/* Elements of element-wise ops are near their references one by one; sums and products, of which other orders
 * round otherwise, are near in all. Integers, bools and what is only moved are the same. */
static bool
is_near(const Node *node, const Tensor *actual, const Tensor *expected)
{
    double tolerance = tensor_distance_max(expected->dtype);
    return (node->op->flags & OP_ELEMENTWISE) != 0 ? tensor_is_near(actual, expected, tolerance)
                                                   : tensor_is_close(actual, expected, tolerance);
}

static bool
outputs_are_near(const Node *node, const Tensor *actual, const Tensor *expected)
{
    for (uint32_t index = 0; index < node->output_count; index++) {
        if (!is_near(node, &actual[index], &expected[index])) {
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

/* Notes which kernel takes a node. An OpCompute that computes nothing. */
static Status
note_taken(Call *call, const Node *node, Tensor *inputs, Tensor *outputs)
{
    Row *row = find_row(node);
    (void)call;
    (void)inputs;
    (void)outputs;
    if (row != NULL) {
        row->taken |= UINT64_C(1) << dtype_now;
    }
    return STATUS_CANCELLED;
}

static void
note_sizes(Row *row, const Tensor *tensors, uint32_t count)
{
    for (uint32_t index = 0; index < count; index++) {
        int64_t size = tensors[index].dtype == DTYPE_INVALID ? 1 : tensor_element_count(&tensors[index]);
        row->was_empty = row->was_empty || size == 0;
        row->was_large = row->was_large || size > BLOCK_THREADS;
    }
}

/* Computes a node on the card and by the reference kernel, and returns the reference's outputs; INTERNAL when
 * they differ, CANCELLED when both fail alike or no kernel of the card takes the node. */
static Status
compute_both(Call *call, const Node *node, Tensor *inputs, Tensor *outputs)
{
    Row *row = find_row(node);
    if (row == NULL) {
        return STATUS_CANCELLED;
    }
    AUTO_ARENA arena = arena_new(ARENA_SIZE);
    Call card_call = {.arena = arena};
    Tensor actual[OP_CASE_TENSORS_MAX] = {0};
    Status card_status = compute_on_card(&card_call, row->kernel, node, inputs, actual);
    note_sizes(row, inputs, node->input_count);
    Status status = reference_compute(call, node, inputs, outputs);
    bool is_right = ends_alike(call, status, &card_call, card_status) &&
                    (status != STATUS_OK || outputs_are_near(node, actual, outputs));
    for (uint32_t index = 0; index < node->output_count; index++) {
        tensor_unref(&actual[index]);
    }
    row->taken |= UINT64_C(1) << dtype_now;
    row->compared |= UINT64_C(1) << dtype_now;
    note_sizes(row, outputs, status == STATUS_OK ? node->output_count : 0);
    comparison_count++;
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

/* Writes an input; T stands for this dtype. With `is_drawn` the elements that it has are drawn anew. */
static void
write_input(const char *op, const char *input, Dtype dtype, bool is_drawn, Buffer *ret_text)
{
    const char *shape = strchr(input, '[');
    if (shape == NULL) {
        return; /* an absent one */
    }
    const char *end = strchr(shape, ' ');
    size_t size = end == NULL ? strlen(shape) : (size_t)(end - shape);
    bool is_generic = input[0] == 'T';
    Dtype own = is_generic ? dtype : dtype_from_name((Slice){input, (size_t)(shape - input)});
    buffer_append_format(ret_text, "%s%.*s", dtype_name(own), (int)size, shape);
    if (end == NULL || (is_generic && is_drawn)) {
        append_elements(ret_text, own, count_elements(shape), strstr(op, "Prod") != NULL);
    } else {
        buffer_append_string(ret_text, end);
    }
}

/* Writes the attributes; T stands for this dtype where it is a value's first letter. */
static void
write_attrs(const char *attrs, Dtype dtype, Buffer *ret_text)
{
    for (const char *at = attrs; at != NULL && *at != '\0'; at++) {
        bool is_generic =
            at > attrs && at[-1] == '=' && at[0] == 'T' && (at[1] == '\0' || strchr("[;", at[1]));
        if (is_generic) {
            buffer_append_string(ret_text, dtype_name(dtype));
        } else {
            buffer_append(ret_text, at, 1);
        }
    }
}

static bool
is_generic_case(const CudaKernelCase *kernel_case)
{
    bool is_generic = kernel_case->attrs != NULL && strstr(kernel_case->attrs, "=T") != NULL;
    for (size_t index = 0; index < CUDA_CASE_INPUTS_MAX && kernel_case->inputs[index] != NULL; index++) {
        is_generic = is_generic || kernel_case->inputs[index][0] == 'T';
    }
    return is_generic;
}

/* Returns whether the elements that are written down in a case can be of the dtype. */
static bool
may_be_of(const CudaKernelCase *kernel_case, Dtype dtype)
{
    bool may_be = true;
    for (size_t index = 0; index < CUDA_CASE_INPUTS_MAX && kernel_case->inputs[index] != NULL; index++) {
        const char *input = kernel_case->inputs[index];
        const char *elements = input[0] == 'T' ? strchr(input, ' ') : NULL;
        if (elements != NULL) {
            bool is_float = strstr(elements, "nan") != NULL || strstr(elements, "inf") != NULL;
            for (const char *at = elements; *at != '\0'; at++) {
                is_float = is_float || (at[0] == '.' && at[1] >= '0' && at[1] <= '9');
            }
            may_be = may_be && !dtype_is_complex(dtype) && (dtype_is_floating(dtype) || !is_float);
        }
    }
    return may_be;
}

static void
run_case(OpCompute compute, const CudaKernelCase *kernel_case, Dtype dtype)
{
    AUTO_BUFFER attrs = {0};
    Buffer texts[CUDA_CASE_INPUTS_MAX] = {0};
    OpCase op_case = {.op = kernel_case->op};
    drawing = 1; /* a case draws the same whatever comes before it */
    dtype_now = is_generic_case(kernel_case) ? dtype : DTYPE_INVALID;
    write_attrs(kernel_case->attrs, dtype, &attrs);
    op_case.attrs = attrs.size == 0 ? NULL : buffer_string(&attrs);
    for (size_t index = 0; index < CUDA_CASE_INPUTS_MAX && kernel_case->inputs[index] != NULL; index++) {
        write_input(kernel_case->op, kernel_case->inputs[index], dtype, compute == note_taken, &texts[index]);
        op_case.inputs[index] = buffer_string(&texts[index]);
        assert_non_null(op_case.inputs[index]);
    }
    op_cases_run_by(compute, &op_case, 1);
    for (size_t index = 0; index < CUDA_CASE_INPUTS_MAX; index++) {
        buffer_done(&texts[index]);
    }
}

/* Runs a case in these dtypes, and notes which other dtypes are taken. Returns in how many a kernel took it.
 */
static size_t
compare_in(const CudaKernelCase *kernel_case, uint64_t dtypes)
{
    size_t taken = 0;
    Dtype last = is_generic_case(kernel_case) ? DTYPE_COMPLEX128 : DTYPE_BOOL;
    for (Dtype dtype = DTYPE_BOOL; dtype <= last; dtype++) {
        size_t before = comparison_count;
        bool is_compared = (dtypes >> dtype & 1) != 0 && may_be_of(kernel_case, dtype);
        run_case(is_compared ? compute_both : note_taken, kernel_case, dtype);
        taken += comparison_count > before;
    }
    return taken;
}

static void
expect_dtypes(const CudaKernelCase *kernel_case, size_t index, uint64_t dtypes, size_t dtype_count)
{
    size_t taken = compare_in(kernel_case, dtypes);
    if (taken < dtype_count) {
        fail_msg("case %zu: kernels of the card take '%s' {%s} in %zu dtypes, not in %zu", index,
            kernel_case->op, kernel_case->attrs == NULL ? "" : kernel_case->attrs, taken, dtype_count);
    }
}

void
cuda_kernels_compare(const CudaKernelCase *cases, size_t count)
{
    for (size_t index = 0; index < count; index++) {
        expect_dtypes(&cases[index], index, UINT64_MAX, 1);
    }
}

void
cuda_kernels_compare_in(const CudaKernelCase *cases, size_t count, const Dtype *dtypes, size_t dtype_count)
{
    uint64_t set = 0;
    for (size_t index = 0; index < dtype_count; index++) {
        set |= UINT64_C(1) << dtypes[index];
    }
    for (size_t index = 0; index < count; index++) {
        expect_dtypes(&cases[index], index, set, dtype_count);
    }
}

/* Returns whether the op has a choice of types for what it computes. */
static bool
is_generic_op(const char *name)
{
    const Op *op = op_find(slice_from_string(name));
    assert_non_null(op);
    return (op->input_count > 0 && op->inputs[0].type_attr.size > 0) || op->outputs[0].type_attr.size > 0;
}

/* Prints what no case has compared of a kernel. Returns whether that is nothing. */
static bool
has_cases(const Row *row)
{
    uint64_t generic = row->compared & ~(UINT64_C(1) << DTYPE_INVALID);
    bool has_case = row->compared != 0 && (generic != 0 || !is_generic_op(row->kernel->op));
    if (!has_case) {
        print_error("%s: no case compares '%s'%s\n", row->file, row->kernel->op,
            row->compared == 0 ? "" : " in each dtype that it takes (T)");
    }
    if (!row->was_empty || !row->was_large) {
        print_error("%s: no case of '%s' has a tensor %s\n", row->file, row->kernel->op,
            row->was_empty ? "of more elements than a block has threads" : "without elements");
        has_case = false;
    }
    for (Dtype dtype = DTYPE_BOOL; dtype <= DTYPE_COMPLEX128; dtype++) {
        if ((row->taken & ~row->compared) >> dtype & 1) {
            print_error("%s: no case compares '%s' in %s\n", row->file, row->kernel->op, dtype_name(dtype));
            has_case = false;
        }
    }
    return has_case;
}

static bool
is_of_family(const Row *row, const char *family)
{
    const char *name = strrchr(row->file, '/');
    size_t size = strlen(family);
    name = name == NULL ? row->file : name + 1;
    return strncmp(name, family, size) == 0 && strcmp(name + size, ".c") == 0;
}

void
cuda_kernels_expect_cases(const char *family)
{
    size_t found = 0;
    size_t missing = 0;
    for (size_t index = 0; index < row_count; index++) {
        if (is_of_family(&rows[index], family)) {
            found++;
            missing += !has_cases(&rows[index]);
        }
    }
    assert_true(found > 0);
    assert_int_equal(missing, 0);
}

void
cuda_kernels_expect_all_cases(const char *const *others, size_t count)
{
    size_t missing = 0;
    for (size_t index = 0; index < row_count; index++) {
        bool is_elsewhere = false;
        for (size_t other = 0; other < count; other++) {
            is_elsewhere = is_elsewhere || is_of_family(&rows[index], others[other]);
        }
        missing += !is_elsewhere && !has_cases(&rows[index]);
    }
    assert_int_equal(missing, 0);
}
