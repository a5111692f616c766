/* The k largest (or smallest) elements of each line. Among equal elements the first one in the input comes
 * first. NaN counts as the largest number.
 *
 * They are kept in a heap whose root is replaced by the next better element. With sorted=false, which
 * promises no order, the heap itself is the answer. heap_sink() moves as libstdc++'s heap does, on which
 * TensorFlow's gtl::TopN is built, so that the order is mostly the same. */
#include "shared/ops/order/beyond.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

typedef struct TopK {
    IsBeyond is_beyond;
    Lines lines; /* lines of the input */
    int64_t k;
    bool largest;
    bool is_sorted;
} TopK;

/* A heap of positions in a line; the last in order is the root. */
typedef struct Heap {
    const TopK *top;
    const void *line;
    int64_t *positions;
    int64_t count;
} Heap;

static bool
comes_before(const Heap *heap, int64_t left, int64_t right)
{
    const TopK *top = heap->top;
    int64_t here = left * top->lines.inner;
    int64_t there = right * top->lines.inner;
    return top->is_beyond(heap->line, here, there, top->largest) ||
           (left < right && !top->is_beyond(heap->line, there, here, top->largest));
}

/* Moves the hole down to a leaf, always to the child that comes later, and then moves the new position up
 * from there. */
static void
heap_sink(const Heap *heap, int64_t hole, int64_t position)
{
    int64_t *positions = heap->positions;
    int64_t top = hole;
    for (int64_t child = 2 * hole + 1; child < heap->count; child = 2 * hole + 1) {
        if (child + 1 < heap->count && !comes_before(heap, positions[child + 1], positions[child])) {
            child++;
        }
        positions[hole] = positions[child];
        hole = child;
    }
    for (int64_t parent = (hole - 1) / 2; hole > top && comes_before(heap, positions[parent], position);
         parent = (hole - 1) / 2) {
        positions[hole] = positions[parent];
        hole = parent;
    }
    positions[hole] = position;
}

static void
heap_build(const Heap *heap)
{
    for (int64_t parent = heap->count / 2; parent-- > 0;) {
        heap_sink(heap, parent, heap->positions[parent]);
    }
}

/* Moves the root behind the others, whose count falls by one. */
static void
heap_pop(Heap *heap)
{
    heap->count--;
    int64_t last = heap->positions[heap->count];
    heap->positions[heap->count] = heap->positions[0];
    heap_sink(heap, 0, last);
}

/* Selects the k first positions of the line; there is room for one more behind them. */
static void
select_positions(Heap *heap)
{
    int64_t k = heap->top->k;
    int64_t size = heap->top->lines.size;
    for (heap->count = 0; heap->count < size && heap->count <= k; heap->count++) {
        heap->positions[heap->count] = heap->count;
    }
    heap_build(heap);
    if (size > k) {
        heap_pop(heap);
    }
    for (int64_t position = k + 1; position < size; position++) {
        if (comes_before(heap, position, heap->positions[0])) {
            heap_sink(heap, 0, position);
        }
    }
    while ((heap->top->is_sorted || size == k) && heap->count > 1) {
        heap_pop(heap);
    }
}

static void
top_line(
    const TopK *top, const Tensor *input, int64_t first, int64_t target, int64_t *positions, Tensor *outputs)
{
    size_t size = dtype_size(input->dtype);
    const char *line = (const char *)input->data + (size_t)first * size;
    Heap heap = {.top = top, .line = line, .positions = positions};
    select_positions(&heap);
    for (int64_t n = 0; n < top->k; n++) {
        int64_t position = target + n * top->lines.inner;
        memcpy((char *)outputs[0].data + (size_t)position * size,
            line + (size_t)(positions[n] * top->lines.inner) * size, size);
        write_index(&outputs[1], position, positions[n]);
    }
}

static Status
run_top_k(KernelContext *context, int64_t axis, bool largest, bool is_sorted)
{
    const Tensor *input = &context->inputs[0];
    Shape shapes[2];
    Tensor *ignored = NULL;
    AUTO_TENSOR positions = {0};
    TRY(output_shapes(context, shapes));
    TRY(kernel_output(context, 0, input->dtype, &shapes[0], &ignored));
    TRY(kernel_output(context, 1, context->node->output_dtypes[1], &shapes[1], &ignored));
    int position = (int)(axis < 0 ? axis + input->shape.rank : axis);
    TopK top = {
        .is_beyond = is_beyond_of(input->dtype, NAN_LARGEST),
        .lines = lines_along(&input->shape, position),
        .k = shapes[0].dims[position],
        .largest = largest,
        .is_sorted = is_sorted,
    };
    Shape vector = shape_vector(top.k + 1);
    TRY(scratch_new(context, DTYPE_INT64, &vector, &positions));
    for (int64_t outer = 0; outer < top.lines.outer && tensor_element_count(&context->outputs[0]) > 0;
         outer++) {
        for (int64_t inner = 0; inner < top.lines.inner; inner++) {
            top_line(&top, input, outer * top.lines.size * top.lines.inner + inner,
                outer * top.k * top.lines.inner + inner, positions.data, context->outputs);
        }
    }
    return STATUS_OK;
}

static Status
top_k_compute(KernelContext *context)
{
    return run_top_k(context, -1, true, node_attr_bool(context->node, "sorted"));
}

static Status
onnx_top_k_compute(KernelContext *context)
{
    const Node *node = context->node;
    return run_top_k(context, node_attr_int(node, "axis"), node_attr_int(node, "largest") != 0, true);
}

static bool
supports_top_k(const Node *node)
{
    return is_beyond_of(node->input_dtypes[0], NAN_LARGEST) != NULL &&
           (node->output_dtypes[1] == DTYPE_INT32 || node->output_dtypes[1] == DTYPE_INT64);
}

static const Kernel top_k_kernels[] = {
    {.op = "TopK", .supports = supports_top_k, .compute = top_k_compute},
    {.op = "TopKV2", .supports = supports_top_k, .compute = top_k_compute, .host_inputs = 1 << 1},
    {.op = "onnx::TopK", .supports = supports_top_k, .compute = onnx_top_k_compute, .host_inputs = 1 << 1},
};

KERNEL_FAMILY(reference, order_top_k, top_k_kernels);
