/* The k largest or smallest float32 numbers of each line, sorted. An element is one integer: the number's
 * place in the order above, below it the place in the line, of which the first comes first among equals. The
 * k best so far are kept sorted, or many in a heap; most elements meet one comparison. Threads share the
 * lines. */
#include "shared/base/clock.h"
#include "worker/cpu/sizes.h"
#include "worker/cpu/vector/functions.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

enum {
    SHARED_ELEMENTS = 32 * 1024, /* fewer are not worth handing to another thread */
    PARTS_MAX = 64,              /* each has a heap of its own */
    FEW = 32,                    /* numbers are kept sorted faster than in a heap */
    BLOCK = 16,                  /* numbers that are compared with the least of the heap at once */
};

typedef struct TopK {
    const Call *call;
    const float *x;
    Tensor *values;
    Tensor *indices; /* int32 or int64 */
    Lines lines;
    int64_t k;
    int64_t part; /* lines that a thread takes at once */
    int64_t *heaps;
    bool is_largest;
} TopK;

/* Returns a greater number for what comes earlier: NaN counts as the largest number, 0 equals -0. */
static inline int64_t
rank_of(float number, int64_t place, bool is_largest)
{
    int32_t bits = bits_of_float(number);
    int32_t key = bits ^ (int32_t)((uint32_t)(bits >> 31) >> 1);
    key = number == 0 ? 0 : key;
    key = number != number ? INT32_MAX : key;
    key = is_largest ? key : ~key;
    return (int64_t)key * (INT64_C(1) << 32) + (INT32_MAX - place);
}

static int64_t
place_of(int64_t rank)
{
    return INT32_MAX - (rank & INT64_C(0xFFFFFFFF));
}

/* Puts a rank into the heap from its root downwards, whose least one is the root. */
static void
sink(int64_t *heap, int64_t count, int64_t hole, int64_t rank)
{
    for (int64_t child = 2 * hole + 1; child < count; child = 2 * hole + 1) {
        child += child + 1 < count && heap[child + 1] < heap[child];
        if (heap[child] >= rank) {
            break;
        }
        heap[hole] = heap[child];
        hole = child;
    }
    heap[hole] = rank;
}

/* Returns false when no number of a block is better than the least one of the heap; true also for NaN. */
static inline bool
has_better(const float *block, int64_t step, float least, const TopK *top)
{
    float sign = top->is_largest ? 1.0F : -1.0F;
    float limit = sign * least;
    int32_t found = 0;
    if (step == 1) {
        _Pragma("omp simd reduction(| : found)") for (int n = 0; n < BLOCK; n++)
        {
            found |= !(sign * block[n] <= limit);
        }
        return found != 0;
    }
    for (int n = 0; n < BLOCK; n++) {
        found |= !(sign * block[n * step] <= limit);
    }
    return found != 0;
}

/* Puts a rank in its place among few, which are sorted: the best comes first, the least goes. */
static void
insert(int64_t *ranks, int64_t count, int64_t rank)
{
    for (int64_t n = 0; n < count; n++) {
        int64_t before = ranks[n];
        ranks[n] = before > rank ? before : rank;
        rank = before > rank ? rank : before;
    }
}

/* Takes those of `count` numbers from `place` on that are better than the least of the heap. */
static void
take_better(const TopK *top, const float *line, int64_t place, int64_t count, int64_t *heap)
{
    bool is_sorted = top->k <= FEW;
    const int64_t *least = is_sorted ? &heap[top->k - 1] : heap;
    for (int64_t end = place + count; place < end; place++) {
        int64_t rank = rank_of(line[place * top->lines.inner], place, top->is_largest);
        if (rank <= *least) {
            continue;
        }
        if (is_sorted) {
            insert(heap, top->k, rank);
        } else {
            sink(heap, top->k, 0, rank);
        }
    }
}

static void
take_line(const TopK *top, const float *line, int64_t *heap)
{
    int64_t step = top->lines.inner;
    const int64_t *least = top->k <= FEW ? &heap[top->k - 1] : heap;
    for (int64_t place = top->k; place < top->lines.size; place += BLOCK) {
        int64_t count = smaller_of(BLOCK, top->lines.size - place);
        if (count < BLOCK || has_better(line + place * step, step, line[place_of(*least) * step], top)) {
            take_better(top, line, place, count, heap);
        }
    }
}

/* Finds the k best of a line, the best one first, by few that are kept sorted. */
static void
choose_few(const TopK *top, const float *line, int64_t *ranks)
{
    for (int64_t n = 0; n < top->k; n++) {
        ranks[n] = INT64_MIN;
    }
    take_better(top, line, 0, top->k, ranks);
    take_line(top, line, ranks);
}

/* Does the same by a heap, which is sorted at the end. */
static void
choose_many(const TopK *top, const float *line, int64_t *heap)
{
    int64_t k = top->k;
    for (int64_t place = 0; place < k; place++) {
        heap[place] = rank_of(line[place * top->lines.inner], place, top->is_largest);
    }
    for (int64_t parent = k / 2; parent-- > 0;) {
        sink(heap, k, parent, heap[parent]);
    }
    take_line(top, line, heap);
    for (int64_t count = k; count-- > 1;) {
        int64_t least = heap[0];
        sink(heap, count, 0, heap[count]);
        heap[count] = least;
    }
}

static void
write_line(const TopK *top, const float *line, const int64_t *heap, int64_t first)
{
    int64_t step = top->lines.inner;
    for (int64_t n = 0; n < top->k; n++) {
        int64_t place = place_of(heap[n]);
        ((float *)top->values->data)[first + n * step] = line[place * step];
        if (top->indices->dtype == DTYPE_INT64) {
            ((int64_t *)top->indices->data)[first + n * step] = place;
        } else {
            ((int32_t *)top->indices->data)[first + n * step] = (int32_t)place;
        }
    }
}

static void
choose_part(void *context, int64_t part)
{
    const TopK *top = context;
    const Lines *lines = &top->lines;
    int64_t *heap = top->heaps + part * top->k;
    int64_t end = smaller_of((part + 1) * top->part, lines->outer * lines->inner);
    uint64_t work = 0;
    for (int64_t index = part * top->part; index < end; index++) {
        const float *line = top->x + index / lines->inner * lines->size * lines->inner + index % lines->inner;
        if (call_ends_after(top->call, (uint64_t)lines->size, &work)) {
            return;
        }
        if (top->k <= FEW) {
            choose_few(top, line, heap);
        } else {
            choose_many(top, line, heap);
        }
        write_line(top, line, heap, index / lines->inner * top->k * lines->inner + index % lines->inner);
    }
}

static Status
run_top_k(KernelContext *context, int64_t axis, bool is_largest)
{
    const Tensor *input = &context->inputs[0];
    Shape shapes[2];
    AUTO_TENSOR heaps = {0};
    TRY(output_shapes(context, shapes));
    int position = (int)(axis < 0 ? axis + input->shape.rank : axis);
    TopK top = {.call = context->call,
        .x = input->data,
        .lines = lines_along(&input->shape, position),
        .k = shapes[0].dims[position],
        .is_largest = is_largest};
    if (top.lines.size > INT32_MAX) {
        return kernel_find_reference(context->node)->compute(context);
    }
    TRY(kernel_output(context, 0, DTYPE_FLOAT32, &shapes[0], &top.values));
    TRY(kernel_output(context, 1, context->node->output_dtypes[1], &shapes[1], &top.indices));
    if (tensor_element_count(top.values) == 0) {
        return STATUS_OK;
    }
    int64_t count = top.lines.outer * top.lines.inner;
    top.part = larger_of(divide_up(SHARED_ELEMENTS, top.lines.size), divide_up(count, PARTS_MAX));
    int64_t parts = divide_up(count, top.part);
    TRY(scratch_bytes(context, parts * top.k, sizeof(int64_t), &heaps));
    top.heaps = heaps.data;
    context->device->parallel_for(context->device, parts, choose_part, &top);
    return call_check(context->call, clock_monotonic_ns());
}

static Status
top_k_compute(KernelContext *context)
{
    return run_top_k(context, -1, true);
}

static Status
onnx_top_k_compute(KernelContext *context)
{
    const Node *node = context->node;
    return run_top_k(context, node_attr_int(node, "axis"), node_attr_int(node, "largest") != 0);
}

static bool
supports_onnx(const Node *node)
{
    return node->input_dtypes[0] == DTYPE_FLOAT32 &&
           (node->output_dtypes[1] == DTYPE_INT32 || node->output_dtypes[1] == DTYPE_INT64);
}

/* The order that nobody promised is the reference kernel's heap. */
static bool
supports_sorted(const Node *node)
{
    return supports_onnx(node) && node_attr_bool(node, "sorted");
}

static const Kernel top_k_kernels[] = {
    {.op = "TopK", .supports = supports_sorted, .compute = top_k_compute},
    {.op = "TopKV2", .supports = supports_sorted, .compute = top_k_compute, .host_inputs = 1 << 1},
    {.op = "onnx::TopK", .supports = supports_onnx, .compute = onnx_top_k_compute, .host_inputs = 1 << 1},
};

KERNEL_FAMILY(cpu_kernels, top_k, top_k_kernels);
